"""Charts of several runs: curves with labels at their ends, and small multiples with common axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart, label_expression
from regard.report.charts.curves import DASHES, round_step, series_points, whole_ticks
from regard.report.charts.downsample import Point, downsample_points
from regard.report.table import Table, Value
from regard.report.text import display_width
from regard.report.theme import MUTED_COLOR, PALETTE, TEXT_COLOR

if TYPE_CHECKING:
    import altair as alt

MAX_CURVE_POINTS = 240  # per curve: about one for each pixel of a narrow panel
LETTER_WIDTH, LABEL_HEIGHT = 6.6, 15  # pixels
PANEL_WIDTH, PANEL_HEIGHT = 300, 260
GRAY = "#c3c9d0"
Curves = Mapping[str, Sequence[Point]]


@dataclass(frozen=True)
class CurveStyles:
    """A color and a dash pattern for each name; all other curves are gray and have no label."""

    names: Sequence[str]

    def color(self, name: str) -> str:
        return PALETTE[self.names.index(name) % len(PALETTE)] if name in self.names else GRAY

    def dash(self, name: str) -> list[int]:
        return DASHES[self.names.index(name) // len(PALETTE) % len(DASHES)] if name in self.names else [1, 0]


def overlay_curves(
    tables: Mapping[str, Table],
    x: str,
    y: str,
    series: str,
    *,
    title: str,
    x_title: str,
    y_title: str,
    highlighted: Sequence[str],
) -> Chart:
    """A panel for each table, all with one vertical axis; each curve has its color, and its name at its end.

    `highlighted` are the curves that have a color and a name; the others are gray and behind them.
    """
    import altair as alt

    panels = {
        panel_title: _downsample_curves(series_points(table, x, y, series)) for panel_title, table in tables.items()
    }
    all_points = [points for curves in panels.values() for points in curves.values()]
    low, high = _value_range([point for points in all_points for point in _skip_first_points(points)])
    styles, panel_width = CurveStyles(highlighted), PANEL_WIDTH if len(panels) > 1 else 560
    datasets: dict[str, list[dict[str, Value]]] = {}
    panel_charts: list[Any] = []
    for number, (panel_title, curves) in enumerate(panels.items()):
        ends = _place_end_labels(
            {name: curves[name] for name in highlighted if name in curves}, low, high, PANEL_HEIGHT
        )
        datasets[f"lines{number}"] = _curve_rows(curves, styles)
        datasets[f"ends{number}"] = [{**end, "color": styles.color(str(end["name"]))} for end in ends]
        up = alt.Y("y:Q", title=y_title if number == 0 else None, scale=alt.Scale(domain=[low, high], nice=False))
        layers = _curve_layers(f"lines{number}", up, x_title, whole_ticks(curves))
        layers.append(_end_labels(f"ends{number}", up))
        panel = alt.layer(*layers).properties(width=panel_width, height=PANEL_HEIGHT)
        panel_charts.append(panel.properties(title=_panel_title(panel_title)) if len(panels) > 1 else panel)
    room = max((display_width(name) for name in highlighted), default=0) * LETTER_WIDTH
    picture = alt.hconcat(*panel_charts, spacing=max(30, room + 28)) if len(panel_charts) > 1 else panel_charts[0]
    notes = (_gray_note(panels, highlighted), _above_note(all_points, high))
    return compose_chart(title, picture, datasets, note="; ".join(note for note in notes if note))


def category_curves(
    table: Table,
    x: str,
    y: str,
    series: str,
    *,
    title: str,
    x_title: str,
    y_title: str,
    limits: tuple[float, float] | None = None,
) -> Chart:
    """A curve for each series over categories in the table's order, its name at its end.

    `limits` are the ends of a scale on which a small difference must look small; None: those of the values.
    """
    import altair as alt

    categories = list(dict.fromkeys(str(value) for value in table[x]))
    category_indices = [categories.index(str(value)) for value in table[x]]
    curves = series_points(Table({**table.columns, "category": category_indices}), "category", y, series)
    styles = CurveStyles(list(curves))
    low, high = limits or _value_range([point for points in curves.values() for point in points])
    up = alt.Y("y:Q", title=y_title, scale=alt.Scale(domain=[low, high], nice=False))
    axis = alt.Axis(
        labelExpr=label_expression(categories), values=list(range(len(categories))), grid=False, labelAngle=0
    )
    across = alt.X("x:Q", title=x_title, axis=axis, scale=alt.Scale(domain=[0, len(categories) - 1], nice=False))
    base = alt.Chart(alt.NamedData("lines"))
    color = alt.Color("color:N", scale=None)
    layers: list[Any] = [
        base.mark_line(strokeWidth=2).encode(across, up, alt.Detail("series:N"), color=color, strokeDash=_dash()),
        base.mark_point(filled=True, size=36, opacity=1).encode(across, up, color=color),
        _end_labels("ends", up),
    ]
    ends = [
        {**end, "color": styles.color(str(end["name"]))} for end in _place_end_labels(curves, low, high, PANEL_HEIGHT)
    ]
    picture = alt.layer(*layers).properties(width=560, height=PANEL_HEIGHT)
    return compose_chart(title, picture, {"lines": _curve_rows(curves, styles), "ends": ends})


def small_multiples(
    table: Table,
    x: str,
    y: str,
    series: str,
    panel: str,
    *,
    title: str,
    x_title: str,
    y_title: str,
) -> Chart:
    """Small multiples: a panel for each value of a column, all on the same axes, a line for each series."""
    import altair as alt

    panel_names = list(dict.fromkeys(str(value) for value in table[panel]))
    series_names = list(dict.fromkeys(str(value) for value in table[series]))
    rows: list[dict[str, Value]] = []
    for panel_name in panel_names:
        row_indices = [n for n, value in enumerate(table[panel]) if str(value) == panel_name]
        panel_table = Table({name: [column[n] for n in row_indices] for name, column in table.columns.items()})
        for series_name, points in _downsample_curves(series_points(panel_table, x, y, series), 90).items():
            place: dict[str, Value] = {"series": series_name, "panel": panel_names.index(panel_name)}
            place["alone"] = _is_alone(points)
            rows += [{"x": x_value, "y": value, **place} for x_value, value in points]
    columns = min(4, len(panel_names))
    size = (150, 110) if columns > 3 else (200, 140)
    color = alt.Color(
        "series:N",
        scale=alt.Scale(domain=series_names, range=list(PALETTE[: len(series_names)])),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke"),
    )
    plain_axis = alt.Axis(grid=False, tickCount=4, title=None, **whole_ticks(series_points(table, x, y, series)))
    across = alt.X("x:Q", axis=plain_axis, scale=alt.Scale(nice=False))
    up = alt.Y("y:Q", axis=alt.Axis(tickCount=4, title=None), scale=alt.Scale(zero=False))
    dots = alt.Chart().transform_filter("datum.alone").mark_point(filled=True, size=24, opacity=1)
    lines = alt.layer(
        alt.Chart().mark_line(strokeWidth=1.6, strokeJoin="round").encode(across, up, color=color),
        dots.encode(across, up, color=color),
        data=alt.NamedData("lines"),
    ).properties(width=size[0], height=size[1])
    header = alt.Header(
        title=None,
        labelExpr=label_expression(panel_names),
        labelFontSize=12,
        labelColor=TEXT_COLOR,
        labelAnchor="start",
    )
    picture = lines.facet(facet=alt.Facet("panel:O", header=header), columns=columns, spacing=14)
    return compose_chart(
        title, picture, {"lines": rows}, note=f"{y_title}, over {x_title}; the same axes in every panel"
    )


def stacked_histograms(
    table: Table,
    column: str,
    series: str,
    *,
    title: str,
    x_title: str,
    units: str = "sentences",
    limits: tuple[float, float] | None = (0.0, 100.0),
    bins: int = 20,
) -> Chart:
    """A histogram of a column for each series, one below the other on the same axes, with a mark at the median.

    `limits` are the ends of the scale, which the bins divide; None: round ones around the values.
    """
    import altair as alt

    names = list(dict.fromkeys(str(value) for value in table[series]))
    values: dict[str, list[float]] = {name: [] for name in names}
    for name, value in zip(table[series], table.numbers(column), strict=True):
        if value is not None:
            values[str(name)].append(value)
    low, step, bins = _bins_of([value for group in values.values() for value in group], limits, bins)
    rows: list[dict[str, Value]] = []
    marks: list[dict[str, Value]] = []
    for n, name in enumerate(names):
        rows += [{**row, "panel": n} for row in _count_in_bins(values[name], low, step, bins)]
        if values[name]:  # else the median is unknown, not 0
            median = sorted(values[name])[len(values[name]) // 2]
            marks.append({"x": median, "panel": n, "text": f"median {median:.{0 if step >= 1 else 2}f}"})
    top = max((float(row["n"] or 0) for row in rows), default=1.0)
    across = alt.X(
        "a:Q", title=x_title, bin="binned", scale=alt.Scale(domain=[low, low + bins * step]), axis=alt.Axis(grid=False)
    )
    bar = (
        alt.Chart()
        .mark_bar(color=PALETTE[0], binSpacing=1)
        .encode(
            across,
            alt.X2("b"),
            alt.Y("n:Q", title=None, axis=alt.Axis(tickCount=3), scale=alt.Scale(domain=[0, 1.35 * top])),
        )
    )
    median_marks = alt.Chart().transform_filter("isValid(datum.text)")
    rule = median_marks.mark_rule(color=PALETTE[1], strokeWidth=2).encode(alt.X("x:Q"))
    text = median_marks.mark_text(align="left", baseline="top", dx=5, color=PALETTE[1], fontSize=12).encode(
        alt.X("x:Q"), y=alt.value(0), text=alt.Text("text:N")
    )
    header = alt.Header(
        title=None,
        labelExpr=label_expression(names),
        labelAngle=0,
        labelAlign="left",
        labelFontSize=12,
        labelColor=TEXT_COLOR,
        labelLimit=170,
    )
    layers = alt.layer(bar, rule, text, data=alt.NamedData("bins")).properties(width=460, height=74)
    picture = layers.facet(row=alt.Row("panel:O", header=header), spacing=8)
    return compose_chart(title, picture, {"bins": [*rows, *marks]}, note=f"in percent of the {units}")


def _count_in_bins(values: Sequence[float], low: float, step: float, bins: int) -> list[dict[str, Value]]:
    """The ends of each bin, and the percentage of values in it."""
    counts = [0] * bins
    for value in values:
        counts[max(0, min(bins - 1, int((value - low) / step)))] += 1
    total = max(1, len(values))
    return [{"a": low + i * step, "b": low + (i + 1) * step, "n": 100 * c / total} for i, c in enumerate(counts)]


def _bins_of(values: Sequence[float], limits: tuple[float, float] | None, bins: int) -> tuple[float, float, int]:
    """Where the first bin begins, the width of each, and how many there are."""
    if limits is not None:
        return limits[0], (limits[1] - limits[0]) / bins, bins
    low, high = min(values, default=0.0), max(values, default=1.0)
    step = round_step((high - low) / bins, minimum=0)
    start = math.floor(low / step) * step
    return start, step, math.floor((high - start) / step) + 1


def _downsample_curves(curves: Curves, limit: int = MAX_CURVE_POINTS) -> dict[str, list[Point]]:
    return {name: downsample_points(list(points), limit) for name, points in curves.items()}


def _curve_rows(curves: Curves, styles: CurveStyles) -> list[dict[str, Value]]:
    """Every point with its style; gray curves first, so that the others are drawn on top."""
    order = sorted(curves, key=lambda name: name in styles.names)
    return [
        {"x": x, "y": y, "series": name, **style, "z": n}
        for n, (name, style) in enumerate((name, _curve_style(curves[name], name, styles)) for name in order)
        for x, y in curves[name]
    ]


def _curve_style(points: Sequence[Point], name: str, styles: CurveStyles) -> dict[str, Value]:
    return {"color": styles.color(name), "dash": styles.dash(name) != [1, 0], "alone": _is_alone(points)}


def _is_alone(points: Sequence[Point]) -> bool:
    """Whether a curve has one point, through which no line can be drawn."""
    return sum(value is not None for _, value in points) == 1


def _curve_layers(data: str, up: alt.Y, x_title: str, ticks: Mapping[str, Any]) -> list[Any]:
    import altair as alt

    axis = alt.Axis(grid=False, tickCount=6, **ticks)
    across = alt.X("x:Q", title=x_title, axis=axis, scale=alt.Scale(nice=False, zero=False))
    line = alt.Chart(alt.NamedData(data)).mark_line(strokeWidth=1.8, strokeJoin="round", clip=True)
    color = alt.Color("color:N", scale=None)
    # A run that was stopped at its first validation has a point and no line.
    dot = alt.Chart(alt.NamedData(data)).transform_filter("datum.alone").mark_point(filled=True, size=36, opacity=1)
    return [
        line.encode(across, up, alt.Detail("z:O"), color=color, strokeDash=_dash()),
        dot.encode(across, up, color=color),
    ]


def _dash() -> alt.StrokeDash:
    import altair as alt

    return alt.StrokeDash("dash:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [6, 3]]), legend=None)


def _end_labels(data: str, up: alt.Y) -> Any:
    import altair as alt

    text = alt.Chart(alt.NamedData(data)).mark_text(align="left", dx=6, fontSize=12, fontWeight=600, clip=False)
    return text.encode(up, x=alt.value("width"), text=alt.Text("name:N"), color=alt.Color("color:N", scale=None))


def _place_end_labels(curves: Curves, low: float, high: float, height: float) -> list[dict[str, Value]]:
    """Labels at the heights of the ends of their curves, moved apart until they do not overlap."""
    ends = {name: last for name, points in curves.items() if (last := _last_value(points)) is not None}
    order = sorted(ends, key=lambda name: ends[name])
    gap = (high - low) * LABEL_HEIGHT / height
    heights: list[float] = []
    for name in order:
        heights.append(max(ends[name], heights[-1] + gap) if heights else ends[name])
    overflow = heights[-1] - high if heights else 0.0
    if overflow > 0:  # move labels down from the top
        ceiling = high
        for n in reversed(range(len(heights))):
            heights[n] = min(heights[n], ceiling)
            ceiling = heights[n] - gap
    return [{"name": name, "y": label_height} for name, label_height in zip(order, heights, strict=True)]


def _last_value(points: Sequence[Point]) -> float | None:
    return next((value for _, value in reversed(points) if value is not None), None)


def _value_range(points: Sequence[Point]) -> tuple[float, float]:
    values = [value for _, value in points if value is not None]
    if not values:
        raise RegardError("curves of several runs: there is no finite point to draw")
    margin = 0.05 * (max(values) - min(values)) or 0.5
    low = min(values) - margin
    return max(0.0, low) if min(values) >= 0 else low, max(values) + margin  # no loss and no score is below 0


def _skip_first_points(points: Sequence[Point]) -> Sequence[Point]:
    """A curve without its first twentieth, in which a loss falls so steeply that the rest would look flat."""
    return points[len(points) // 20 :]


def _above_note(curves: Sequence[Sequence[Point]], high: float) -> str:
    above = any(value is not None and value > high for points in curves for _, value in points)
    return "the first steps are above the plot" if above else ""


def _panel_title(text: str) -> dict[str, Any]:
    return {"text": text, "fontSize": 13, "fontWeight": "normal", "color": MUTED_COLOR, "offset": 6}


def _gray_note(panels: Mapping[str, Curves], highlighted: Sequence[str]) -> str:
    gray_names = {name for curves in panels.values() for name in curves} - set(highlighted)
    return f"in gray: the other {len(gray_names)}" if gray_names else ""
