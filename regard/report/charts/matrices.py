"""Tiles: several signed matrices side by side, each with its own scale and nought in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose
from regard.report.table import Value, number
from regard.report.theme import EMPTY

if TYPE_CHECKING:
    import altair as alt

# Blue below nought and orange above it, as light as paper between: told apart by every eye, and in grey by lightness.
DIVERGING = ("#0b4f8a", "#5b9bd0", "#f6f6f4", "#e08a3c", "#8a3c00")
SMALL, LARGE = 4, 9  # pixels of a cell
WIDE = 300  # what a tile would like to be
NAMED = 6  # labels on an axis, at most


@dataclass(frozen=True)
class Tile:
    """One matrix with what its rows and columns are."""

    title: str
    values: Sequence[Sequence[float | None]]
    """None or NaN: a cell that has no value."""
    rows: Sequence[int]
    columns: Sequence[int]
    row_title: str
    column_title: str
    top: float | None = None
    """The value that has the strongest colour; unset: the largest of its own."""


def tiles(title: str, lines: Sequence[Sequence[Tile]], note: str = "") -> Chart:
    """Lines of tiles. Colours are symmetric about 0; cells without a value are grey."""
    import altair as alt

    if not lines or not all(lines):
        raise RegardError("a picture of tiles needs at least one tile in every line")
    data: dict[str, list[dict[str, Value]]] = {}
    drawn = []
    for r, line in enumerate(lines):
        for c, tile in enumerate(line):
            data[f"tile{r}x{c}"] = _cells(tile)
        # One legend serves a line whose tiles were given one top.
        told = [tile.top is None or tile is line[-1] for tile in line]
        every = (_tile(tile, f"tile{r}x{c}", told[c]) for c, tile in enumerate(line))
        drawn.append(alt.hconcat(*every, spacing=26))
    whole = alt.vconcat(*(line.resolve_scale(color="independent") for line in drawn), spacing=30)
    return compose(title, whole.resolve_scale(color="independent"), data, note)


def _cells(tile: Tile) -> list[dict[str, Value]]:
    if len(tile.values) != len(tile.rows) or any(len(line) != len(tile.columns) for line in tile.values):
        raise RegardError(f"tile {tile.title!r}: expected {len(tile.rows)} rows of {len(tile.columns)} values each")
    return [
        {"row": row, "column": column, "value": number(value, f"tile {tile.title!r}, row {row}, column {column}")}
        for row, line in zip(tile.rows, tile.values, strict=True)
        for column, value in zip(tile.columns, line, strict=True)
    ]


def _tile(tile: Tile, name: str, told: bool) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    values = [abs(cell["value"]) for cell in _cells(tile) if isinstance(cell["value"], float | int)]
    top = tile.top or max(values, default=0.0) or 1.0
    side = max(SMALL, min(LARGE, WIDE // len(tile.columns)))
    base = alt.Chart(alt.NamedData(name))
    across = alt.X("column:O", title=tile.column_title, axis=_axis(tile.columns, orient="top"))
    down = alt.Y("row:O", title=tile.row_title, axis=_axis(tile.rows))
    legend = alt.Legend(title=None, gradientLength=80, gradientThickness=8, values=[-top, 0, top], format=".2~g")
    shade = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[-top, -top / 2, 0, top / 2, top], range=list(DIVERGING), interpolate="lab", clamp=True),
        legend=legend if told else None,
    )
    layers = [
        base.mark_rect(color=EMPTY).transform_filter("!isValid(datum.value)").encode(across, down),
        base.mark_rect().transform_filter("isValid(datum.value)").encode(across, down, shade),
    ]
    heading = alt.TitleParams(tile.title, fontSize=13, anchor="start", offset=6)
    height = max(LARGE if len(tile.rows) <= WIDE // LARGE else SMALL, 1) * len(tile.rows)
    return alt.layer(*layers).properties(width=side * len(tile.columns), height=height, title=heading)


def _axis(numbers: Sequence[int], **more: Any) -> alt.Axis:
    """A few round numbers, however many there are."""
    import altair as alt

    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 10**6) if len(numbers) <= NAMED * step)
    named = [n for n in numbers if n % step == 0]
    return alt.Axis(values=named, labelAngle=0, domain=False, ticks=False, grid=False, **more)
