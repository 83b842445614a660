"""Heat maps of attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart, label_expression
from regard.report.table import Table, Value, to_number
from regard.report.text import MISSING, display_width, format_label
from regard.report.theme import CELL_TEXT_COLOR, EMPTY_CELL_COLOR, SEQUENTIAL_COLORS, TEXT_COLOR

if TYPE_CHECKING:
    import altair as alt

DARK_THRESHOLD = 0.6  # fraction of the domain above which text is white
MAX_ANNOTATED = 15  # rows and columns up to which cells contain their weights as text


def heatmap_chart(
    weights: Sequence[Sequence[float | None]] | Table,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    row_title: str,
    column_title: str,
    value_title: str = "weight",
    domain: tuple[float, float] = (0.0, 1.0),
) -> Chart:
    """A cell per weight: rows are queries (target tokens), columns are keys (source tokens), their labels on top.

    The domain of the color scale is fixed, so that two maps can be compared. A `Table` has a column per key. Cells
    without a finite value are gray. The cells of small maps contain their weights as text, except for 0.00.
    """
    entries = _cell_entries(weights, rows, columns, domain)
    cell_size = _cell_size(len(rows), len(columns))
    return compose_chart(
        title,
        _heatmap_layers(rows, columns, cell_size, (row_title, column_title, value_title), domain),
        {"cells": entries},
    )


def _cell_entries(
    weights: Sequence[Sequence[float | None]] | Table,
    rows: Sequence[str],
    columns: Sequence[str],
    domain: tuple[float, float],
) -> list[dict[str, Value]]:
    lines: Sequence[Sequence[Value]]
    lines = [list(row.values()) for row in weights.rows()] if isinstance(weights, Table) else weights
    if not len(rows) or not len(columns):
        raise RegardError(f"a heat map needs rows and columns; got {len(rows)} and {len(columns)}")
    if len(lines) != len(rows):
        raise RegardError(f"the heat map has {len(rows)} row labels but {len(lines)} rows of weights")
    dark = domain[0] + DARK_THRESHOLD * (domain[1] - domain[0])
    entries: list[dict[str, Value]] = []
    for r, line in enumerate(lines):
        if len(line) != len(columns):
            raise RegardError(f"row {r} of the heat map has {len(line)} weights for {len(columns)} column labels")
        for c, value in enumerate(line):
            weight = to_number(value, f"heat map row {r}, column {c}")
            entry: dict[str, Value] = {"row": r, "column": c, "weight": weight}
            entries.append(entry | _annotation(weight, dark))
    return entries


def _annotation(weight: float | None, dark: float) -> dict[str, Value]:
    """The text of a cell, and whether its background is dark."""
    if weight is None:
        return {"text": MISSING, "dark": 0}
    text = f"{weight:.2f}"
    return {"text": "" if float(text) == 0 else text, "dark": int(weight > dark)}


def _cell_size(rows: int, columns: int) -> int:
    """Width of a cell in pixels: four characters if cells contain text, always the height of a label."""
    most = max(rows, columns)
    return 40 if most <= MAX_ANNOTATED else max(15, min(28, 720 // most))


def _heatmap_layers(
    rows: Sequence[str],
    columns: Sequence[str],
    cell_size: int,
    titles: tuple[str, str, str],
    domain: tuple[float, float],
) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    base = alt.Chart(alt.NamedData("cells"))
    tall, wide = cell_size * len(rows), cell_size * len(columns)
    down = alt.Y("row:O", title=titles[0], axis=_axis(rows), scale=alt.Scale(padding=0))
    top = _axis(columns, orient="top", **_column_angle(columns, cell_size))
    across = alt.X("column:O", title=titles[1], axis=top, scale=alt.Scale(padding=0))
    legend = alt.Legend(title=titles[2], gradientLength=max(80, min(200, tall)), gradientThickness=12)
    shade = alt.Color(
        "weight:Q",
        scale=alt.Scale(domain=list(domain), range=list(SEQUENTIAL_COLORS), interpolate="lab", clamp=True),
        legend=legend,
    )
    cell: dict[str, Any] = {"stroke": "white", "strokeWidth": 1 if cell_size > 20 else 0.4}
    layers = [
        base.mark_rect(color=EMPTY_CELL_COLOR, **cell).transform_filter("!isValid(datum.weight)").encode(across, down),
        base.mark_rect(**cell).transform_filter("isValid(datum.weight)").encode(across, down, shade),
    ]
    if max(len(rows), len(columns)) <= MAX_ANNOTATED:
        color = alt.condition("datum.dark == 1", alt.value("white"), alt.value(CELL_TEXT_COLOR))
        layers.append(base.mark_text(fontSize=12).encode(across, down, text="text:N", color=color))
    return alt.layer(*layers).properties(width=wide, height=tall)


def _axis(labels: Sequence[str], **options: Any) -> alt.Axis:
    import altair as alt

    return alt.Axis(
        labelExpr=label_expression([format_label(word) for word in labels]),
        labelOverlap=False,  # every token has its label
        labelLimit=240,
        labelColor=TEXT_COLOR,
        domain=False,
        ticks=False,
        grid=False,
        **options,
    )


def _column_angle(labels: Sequence[str], cell_size: int) -> dict[str, Any]:
    """Horizontal if all words fit their columns, otherwise diagonal, or vertical if diagonal lines would overlap."""
    if max(map(display_width, labels)) * 8 <= cell_size - 4:
        return {"labelAngle": 0}
    return {"labelAngle": -45 if cell_size >= 24 else -90, "labelAlign": "left", "labelBaseline": "middle"}
