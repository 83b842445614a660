"""Several matrices side by side: signed ones with a diverging color scale around 0, others with one from 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart
from regard.report.table import Value, to_number
from regard.report.theme import EMPTY_CELL_COLOR, SEQUENTIAL_COLORS

if TYPE_CHECKING:
    import altair as alt

# Blue below 0, orange above, nearly white between: safe for color blindness, and readable in gray by lightness.
DIVERGING_COLORS = ("#0b4f8a", "#5b9bd0", "#f6f6f4", "#e08a3c", "#8a3c00")
MIN_CELL_SIZE, MAX_CELL_SIZE = 4, 9  # pixels
PANEL_WIDTH = 300  # preferred width in pixels
MAX_TICK_LABELS = 6  # per axis


@dataclass(frozen=True)
class MatrixPanel:
    """One matrix with the labels of its rows and columns."""

    title: str
    values: Sequence[Sequence[float | None]]
    """None or NaN: a cell that has no value."""
    rows: Sequence[int]
    columns: Sequence[int]
    row_title: str
    column_title: str
    color_limit: float | None = None
    """The absolute value at the ends of the color scale; unset: the largest one of the matrix."""
    value_title: str = ""
    """What the values are, above the color scale."""
    signed: bool = True
    """Whether values may be below 0. Of others, such as attention weights, the scale begins at 0, in one hue."""


def matrix_grid(title: str, lines: Sequence[Sequence[MatrixPanel]], note: str = "") -> Chart:
    """Rows of panels. Colors of signed values are symmetric around 0; cells without a value are gray."""
    import altair as alt

    if not lines or not all(lines):
        raise RegardError("a grid of matrices needs at least one panel in every row")
    data: dict[str, list[dict[str, Value]]] = {}
    chart_rows = []
    for r, line in enumerate(lines):
        for c, panel in enumerate(line):
            data[f"panel{r}x{c}"] = _cells(panel)
        # One legend for a row whose panels have a common color limit.
        show_legend = [panel.color_limit is None or panel is line[-1] for panel in line]
        charts = (_panel_chart(panel, f"panel{r}x{c}", show_legend[c]) for c, panel in enumerate(line))
        chart_rows.append(alt.hconcat(*charts, spacing=26))
    grid = alt.vconcat(*(line.resolve_scale(color="independent") for line in chart_rows), spacing=30)
    return compose_chart(title, grid.resolve_scale(color="independent"), data, note)


def _cells(panel: MatrixPanel) -> list[dict[str, Value]]:
    if len(panel.values) != len(panel.rows) or any(len(line) != len(panel.columns) for line in panel.values):
        raise RegardError(f"panel {panel.title!r}: expected {len(panel.rows)} rows of {len(panel.columns)} values each")
    return [
        {"row": row, "column": column, "value": to_number(value, f"panel {panel.title!r}, row {row}, column {column}")}
        for row, line in zip(panel.rows, panel.values, strict=True)
        for column, value in zip(panel.columns, line, strict=True)
    ]


def _panel_chart(panel: MatrixPanel, name: str, show_legend: bool) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    values = [abs(cell["value"]) for cell in _cells(panel) if isinstance(cell["value"], float | int)]
    color_limit = panel.color_limit or max(values, default=0.0) or 1.0
    cell_size = max(MIN_CELL_SIZE, min(MAX_CELL_SIZE, PANEL_WIDTH // len(panel.columns)))
    base = alt.Chart(alt.NamedData(name))
    across = alt.X("column:O", title=panel.column_title, axis=_axis(panel.columns, orient="top"))
    down = alt.Y("row:O", title=panel.row_title, axis=_axis(panel.rows))
    colors = list(DIVERGING_COLORS if panel.signed else SEQUENTIAL_COLORS)
    signed_domain = [-color_limit, -color_limit / 2, 0, color_limit / 2, color_limit]
    domain = signed_domain if panel.signed else [0, color_limit]
    legend = alt.Legend(
        title=panel.value_title or None,
        gradientLength=80,
        gradientThickness=8,
        values=[domain[0], (domain[0] + domain[-1]) / 2, domain[-1]],
        format=".2~g",
    )
    shade = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=domain, range=colors, interpolate="lab", clamp=True),
        legend=legend if show_legend else None,
    )
    layers = [
        base.mark_rect(color=EMPTY_CELL_COLOR).transform_filter("!isValid(datum.value)").encode(across, down),
        base.mark_rect().transform_filter("isValid(datum.value)").encode(across, down, shade),
    ]
    heading = alt.TitleParams(panel.title, fontSize=13, anchor="start", offset=6)
    height = max(MAX_CELL_SIZE if len(panel.rows) <= PANEL_WIDTH // MAX_CELL_SIZE else MIN_CELL_SIZE, 1) * len(
        panel.rows
    )
    return alt.layer(*layers).properties(width=cell_size * len(panel.columns), height=height, title=heading)


def _axis(numbers: Sequence[int], **options: Any) -> alt.Axis:
    """An axis with a few round numbers."""
    import altair as alt

    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 10**6) if len(numbers) <= MAX_TICK_LABELS * step)
    tick_values = [n for n in numbers if n % step == 0]
    return alt.Axis(values=tick_values, labelAngle=0, domain=False, ticks=False, grid=False, **options)
