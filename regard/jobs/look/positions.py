"""Positions seen: what the schemes of a run hold and do, for the terminal, figures and files."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.errors import ConfigError
from regard.inspection.example import LONGEST
from regard.inspection.positions import Effect, Places, Sheet, places
from regard.jobs.look.inspected_run import Subject
from regard.report import Chart, Table, Tile, Value, tiles

DIMENSIONS = 128
"""Columns of a table that a figure shows; the file has all of them."""
ABREAST = 4
"""Heads in one line of a figure."""
EVEN = 1.1
"""A distance that gets less than this many times its even share is no favourite."""


def positions_of(subject: Subject, count: int) -> list[Places]:
    """Every stack of a model, as far as its places reach."""
    if not 2 <= count <= LONGEST:
        raise ConfigError(f"--places {count}: expected 2 to {LONGEST} places to look at")
    stacks = [stack for stack in ("encoder", "decoder") if hasattr(subject.model, stack)]
    return [places(subject.model, stack, count) for stack in stacks]


def favourites(found: Sequence[Places]) -> Table:
    """A row a head: where it would look if all words were one, and how much of that is distance alone."""
    rows: list[dict[str, Value]] = []
    for effect in (effect for own in found for effect in own.effects):
        for h, number in enumerate(effect.heads):
            far, times = effect.favourite(h)
            rows.append(
                {
                    "head": f"{effect.name}.{number}",
                    "looks": told_distance(far) if times >= EVEN else "everywhere alike",
                    "times even": times,
                    "by distance": float(effect.by_distance[h]) if times >= EVEN else None,
                }
            )
    return Table.of(rows)


def told_distance(far: int) -> str:
    """A distance j - i in words."""
    return "at itself" if far == 0 else f"{abs(far)} {'before' if far < 0 else 'after'} it"


def place_cells(found: Sequence[Places]) -> Table:
    """A row for each head, query and key: what places alone add to the score, and the weight that comes of it."""
    rows: list[dict[str, Value]] = [
        {
            "head": f"{effect.name}.{number}",
            "query": int(i),
            "key": int(j),
            "score": float(effect.scores[h, i, j]),
            "weight": float(effect.weights[h, i, j]),
        }
        for effect in (effect for own in found for effect in own.effects)
        for h, number in enumerate(effect.heads)
        for i, j in np.argwhere(~np.isnan(effect.scores[h]))
    ]
    return Table.of(rows)


def place_arrays(found: Sequence[Places]) -> Mapping[str, Any]:
    """Everything by flat names, for an NPZ file: encoder.embed.table, encoder.0.self.scores …"""
    arrays: dict[str, Any] = {}
    for own in found:
        for sheet in own.sheets:
            name = f"{sheet.name}.values" if sheet.columns.endswith("values") else sheet.name
            arrays |= {f"{name}.table": sheet.values, f"{name}.{sheet.rows}": np.array(sheet.at)}
            arrays |= {f"{name}.gram": sheet.gram, f"{name}.singular": sheet.singular}
        for effect in own.effects:
            arrays |= {f"{effect.name}.scores": effect.scores, f"{effect.name}.weights": effect.weights}
    return arrays


def place_figure(subject: Subject, found: Sequence[Places], layer: int = 0) -> Chart:
    """What each stack holds, with its Gram matrix, and below it what that does to the scores of one layer."""
    note = "Below the tables: what places alone add to scores, if all words are one and the same."
    return tiles(f"Positions of {subject.run.folder.resolve().name}", place_tiles(found, layer), note)


def place_tiles(found: Sequence[Places], layer: int = 0) -> list[list[Tile]]:
    """The figure's lines of tiles; tables that two stacks share are shown once."""
    lines: list[list[Tile]] = []
    shown: list[Sheet] = []
    for own in found:
        for sheet in _of_layer(own, layer):
            if not any(np.array_equal(sheet.values, other.values, equal_nan=True) for other in shown):
                lines.append(_sheet_tiles(own.scheme, sheet))
                shown.append(sheet)
        heads = _effect_tiles(own.effects[min(layer, len(own.effects) - 1)])
        lines += [heads[i : i + ABREAST] for i in range(0, len(heads), ABREAST)]
    return lines


def _of_layer(own: Places, layer: int) -> list[Sheet]:
    """What acts in a layer: its own tables, or those that serve all."""
    by_layer = [sheet for sheet in own.sheets if sheet.name.startswith(f"{own.stack}.{layer}.")]
    return by_layer or [sheet for sheet in own.sheets if sheet.name == own.sheets[0].name]


def _sheet_tiles(scheme: str, sheet: Sheet) -> list[Tile]:
    columns = range(min(DIMENSIONS, sheet.values.shape[1]))
    first = "" if len(columns) == sheet.values.shape[1] else f", first {len(columns)} of {sheet.values.shape[1]}"
    table = Tile(
        f"{scheme}: {sheet.name}", _lines(sheet.values[:, : len(columns)]), sheet.at, columns, sheet.rows,
        sheet.columns + first,
    )  # fmt: skip
    return [table, Tile("Gram matrix", _lines(sheet.gram), sheet.at, sheet.at, sheet.rows, sheet.rows)]


def _effect_tiles(effect: Effect) -> list[Tile]:
    at = range(effect.scores.shape[1])
    top = float(np.nanmax(np.abs(effect.scores)))
    if top < 1e-4:  # rounding, where no place differs from another
        top = 1.0
    return [
        Tile(f"{effect.name}.{number}", _lines(one), at, at, "query", "key", top)
        for number, one in zip(effect.heads, effect.scores, strict=True)
    ]


def _lines(matrix: Any) -> list[list[float]]:
    found: list[list[float]] = np.round(matrix, 4).tolist()
    return found
