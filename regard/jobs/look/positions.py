"""Position encodings of a run: their tables and their effect on attention, for the terminal, figures and files."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.errors import ConfigError
from regard.files import resolve
from regard.inspection.example import MAX_TOKENS
from regard.inspection.positions import PositionEffect, PositionTable, StackPositions, analyze_stack_positions
from regard.jobs.look.inspected_run import InspectedRun
from regard.report import Chart, MatrixPanel, Table, Value, matrix_grid

MAX_COLUMNS = 128
"""Columns of a table in a figure; files have all of them."""
HEADS_PER_ROW = 4
"""Heads in one row of a figure."""
MIN_UNIFORM_RATIO = 1.1
"""A distance with less than this many times its uniform share is not preferred."""


def analyze_positions(inspected_run: InspectedRun, num_positions: int) -> list[StackPositions]:
    """Every stack of a model, as far as its positions reach."""
    if not 2 <= num_positions <= MAX_TOKENS:
        raise ConfigError(f"--num-positions {num_positions}: expected 2 to {MAX_TOKENS} positions")
    stacks = [stack for stack in ("encoder", "decoder") if hasattr(inspected_run.model, stack)]
    return [analyze_stack_positions(inspected_run.model, stack, num_positions) for stack in stacks]


def tabulate_preferred_distances(stack_positions: Sequence[StackPositions]) -> Table:
    """One row per head: the distance it attends to most if all tokens are the same, and how much distance explains."""
    rows: list[dict[str, Value]] = []
    for effect in (effect for stack in stack_positions for effect in stack.effects):
        for h, head_id in enumerate(effect.head_ids):
            (distance, uniform_ratio), share = effect.preferred_offset(h), float(effect.distance_share[h])
            rows.append(
                {
                    "head": f"{effect.name}.{head_id}",
                    "preferred distance": describe_distance(distance) if uniform_ratio >= MIN_UNIFORM_RATIO else "none",
                    "times uniform": uniform_ratio,
                    "explained by distance": share
                    if uniform_ratio >= MIN_UNIFORM_RATIO and not math.isnan(share)
                    else None,
                }
            )
    return Table.from_rows(rows)


def describe_distance(distance: int) -> str:
    """A distance j - i in words: `2 before`."""
    return "itself" if distance == 0 else f"{abs(distance)} {'before' if distance < 0 else 'after'}"


def tabulate_position_scores(stack_positions: Sequence[StackPositions]) -> Table:
    """One row per head, query and key: the score and the weight that positions alone give."""
    rows: list[dict[str, Value]] = [
        {
            "head": f"{effect.name}.{head_id}",
            "query": int(i),
            "key": int(j),
            "score": float(effect.scores[h, i, j]),
            "weight": float(effect.weights[h, i, j]),
        }
        for effect in (effect for stack in stack_positions for effect in stack.effects)
        for h, head_id in enumerate(effect.head_ids)
        for i, j in np.argwhere(~np.isnan(effect.scores[h]))
    ]
    return Table.from_rows(rows)


def flatten_position_arrays(stack_positions: Sequence[StackPositions]) -> Mapping[str, Any]:
    """All arrays by flat names, for an NPZ file: encoder.embed.table, encoder.0.self.scores …"""
    arrays: dict[str, Any] = {}
    for stack in stack_positions:
        for position_table in stack.tables:
            name = (
                f"{position_table.name}.values"
                if position_table.column_axis.endswith("values")
                else position_table.name
            )
            arrays |= {
                f"{name}.table": position_table.values,
                f"{name}.{position_table.row_axis}": np.array(position_table.row_labels),
            }
            arrays |= {f"{name}.gram": position_table.gram, f"{name}.singular": position_table.singular_values}
        for effect in stack.effects:
            arrays |= {f"{effect.name}.scores": effect.scores, f"{effect.name}.weights": effect.weights}
    return arrays


def draw_positions(inspected_run: InspectedRun, stack_positions: Sequence[StackPositions], layer: int = 0) -> Chart:
    """The tables of each stack with their Gram matrices, and below them their effect on the scores of one layer."""
    note = "Below the tables: the scores that positions alone give, with the same token at every position."
    return matrix_grid(
        f"Positions of {resolve(inspected_run.run.folder).name}", build_position_matrices(stack_positions, layer), note
    )


def build_position_matrices(stack_positions: Sequence[StackPositions], layer: int = 0) -> list[list[MatrixPanel]]:
    """The rows of the figure; tables that two stacks share appear once."""
    rows: list[list[MatrixPanel]] = []
    shown_tables: list[PositionTable] = []
    for stack in stack_positions:
        for position_table in _select_layer_tables(stack, layer):
            if not any(np.array_equal(position_table.values, other.values, equal_nan=True) for other in shown_tables):
                rows.append(_table_matrices(stack.scheme, position_table))
                shown_tables.append(position_table)
        heads = _effect_matrices(stack.effects[min(layer, len(stack.effects) - 1)])
        rows += [heads[i : i + HEADS_PER_ROW] for i in range(0, len(heads), HEADS_PER_ROW)]
    return rows


def _select_layer_tables(stack: StackPositions, layer: int) -> list[PositionTable]:
    """The tables of a layer: its own, or those of all layers."""
    layer_tables = [
        position_table for position_table in stack.tables if position_table.name.startswith(f"{stack.stack}.{layer}.")
    ]
    return layer_tables or [
        position_table for position_table in stack.tables if position_table.name == stack.tables[0].name
    ]


def _table_matrices(scheme: str, position_table: PositionTable) -> list[MatrixPanel]:
    columns = range(min(MAX_COLUMNS, position_table.values.shape[1]))
    truncation_note = (
        ""
        if len(columns) == position_table.values.shape[1]
        else f", first {len(columns)} of {position_table.values.shape[1]}"
    )
    matrix = MatrixPanel(
        f"{scheme}: {position_table.name}",
        _to_rows(position_table.values[:, : len(columns)]),
        position_table.row_labels,
        columns,
        position_table.row_axis,
        position_table.column_axis + truncation_note,
    )
    return [
        matrix,
        MatrixPanel(
            "Gram matrix",
            _to_rows(position_table.gram),
            position_table.row_labels,
            position_table.row_labels,
            position_table.row_axis,
            position_table.row_axis,
        ),
    ]


def _effect_matrices(effect: PositionEffect) -> list[MatrixPanel]:
    position_ids = range(effect.scores.shape[1])
    max_score = float(np.nanmax(np.abs(effect.scores)))
    if max_score < 1e-4:  # rounding error, where positions do not differ
        max_score = 1.0
    return [
        MatrixPanel(f"{effect.name}.{head_id}", _to_rows(scores), position_ids, position_ids, "query", "key", max_score)
        for head_id, scores in zip(effect.head_ids, effect.scores, strict=True)
    ]


def _to_rows(matrix: Any) -> list[list[float]]:
    rows: list[list[float]] = np.round(matrix, 4).tolist()
    return rows
