"""Charts of hyperparameter studies: slice plots, parallel coordinates, and the Pareto front of cost and quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart, label_expression
from regard.report.table import Table, Value
from regard.report.text import format_column
from regard.report.theme import HEIGHT, PALETTE, SEQUENTIAL_COLORS, TEXT_COLOR, WIDTH

if TYPE_CHECKING:
    import altair as alt

BEST_COLOR = PALETTE[1]
DOT_SIZE = 70
MAX_LABELED_DOTS = 12  # dots that can be labeled without overlap


def slice_plot(
    table: Table,
    settings: Sequence[str],
    value: str,
    *,
    title: str,
    y_title: str,
    best: int | None,
    log_scaled: Sequence[str] = (),
) -> Chart:
    """A panel for each setting: every trial at the setting's value and its score, the best one marked."""
    import altair as alt

    names = [name for name in settings if len(set(table[name])) > 1] or list(settings)
    if not names:
        raise RegardError("slice plot: no setting varies, so there is nothing to draw")
    scores = table.numbers(value)
    score_domain = _score_range([score for score in scores if score is not None])
    panels: list[Any] = []
    datasets: dict[str, list[dict[str, Value]]] = {}
    for number, name in enumerate(names):
        column = table[name]
        datasets[f"slice{number}"], datasets[f"mean{number}"] = _slice_rows(column, scores, best)
        across = _slice_axis(column, name, log=name in log_scaled)
        up_title = y_title if number % 3 == 0 else None
        up = alt.Y("y:Q", title=up_title, scale=alt.Scale(domain=list(score_domain), nice=False))
        color = alt.condition("datum.best", alt.value(BEST_COLOR), alt.value(PALETTE[0]))
        mark = alt.Chart(alt.NamedData(f"slice{number}")).mark_point(filled=True, size=DOT_SIZE, opacity=0.75)
        dots = mark.encode(across, up, color=color)
        if not _is_continuous(column):  # a bar at the mean of each value
            bar = alt.Chart(alt.NamedData(f"mean{number}")).mark_tick(
                orient="horizontal", color=TEXT_COLOR, thickness=2, size=34
            )
            dots = alt.layer(dots, bar.encode(across, up))
        panels.append(dots.properties(width=190, height=180))
    picture = alt.concat(*panels, columns=3, spacing=18)
    note = "orange: the best trial; black bars: means" if best is not None else "black bars: means"
    return compose_chart(title, picture, datasets, note=note)


def _slice_rows(
    column: Sequence[Value], scores: Sequence[float | None], best: int | None
) -> tuple[list[dict[str, Value]], list[dict[str, Value]]]:
    """The dots of a panel, and the mean score of each value of its setting."""
    order, continuous = sorted(set(column), key=_sort_key), _is_continuous(column)
    crowded = len(column) > MAX_LABELED_DOTS
    dots: list[dict[str, Value]] = []
    scores_by_value: dict[Value, list[float]] = {setting_value: [] for setting_value in order}
    for n, (setting_value, score) in enumerate(zip(column, scores, strict=True)):
        if score is not None:
            offset = 0.3 * _jitter(n) if crowded else 0
            x = setting_value if continuous else order.index(setting_value) + offset
            dots.append({"x": x, "y": score, "best": n == best})
            scores_by_value[setting_value].append(score)
    means: list[dict[str, Value]] = [
        {"x": order.index(setting_value), "y": sum(value_scores) / len(value_scores)}
        for setting_value, value_scores in scores_by_value.items()
        if value_scores
    ]
    return dots, means


def _slice_axis(column: Sequence[Value], name: str, log: bool) -> alt.X:
    import altair as alt

    if _is_continuous(column):
        scale = alt.Scale(type="log" if log else "linear", zero=False, nice=not log, padding=12)
        return alt.X("x:Q", title=name, scale=scale, axis=alt.Axis(grid=False, tickCount=5))
    order = sorted(set(column), key=_sort_key)
    scale = alt.Scale(domain=[-0.5, len(order) - 0.5], nice=False)
    return alt.X("x:Q", title=name, scale=scale, axis=_category_axis(order))


def parallel_coordinates(
    table: Table,
    settings: Sequence[str],
    value: str,
    *,
    title: str,
    value_title: str,
    higher_is_better: bool,
    best: int | None,
    log_scaled: Sequence[str] = (),
) -> Chart:
    """A line for each trial through its value of every setting to its score; darker is better, the best is orange."""
    import altair as alt

    axes = [*settings, value]
    ticks: list[dict[str, Value]] = []
    heights: dict[str, list[float | None]] = {}
    for axis_index, name in enumerate(axes):
        heights[name], marks = _axis_heights(table[name], name in log_scaled, max_categories=1 if name == value else 6)
        ticks += [{"axis": axis_index, "y": y, "text": text} for y, text in marks]
    goodness = [y if y is None or higher_is_better else 1 - y for y in heights[value]]
    rows: list[dict[str, Value]] = []
    order = sorted(range(len(table)), key=lambda n: (n == best, goodness[n] or 0.0))
    for rank, n in enumerate(order):
        shade = (
            BEST_COLOR
            if n == best
            else SEQUENTIAL_COLORS[2 + round((goodness[n] or 0.0) * (len(SEQUENTIAL_COLORS) - 3))]
        )
        rows += [{"axis": i, "y": heights[name][n], "z": rank, "color": shade} for i, name in enumerate(axes)]
    width = max(120, min(WIDTH, 150 * (len(axes) - 1)))
    across = _parallel_axis([*settings, value_title])
    up = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.08, 1.08], nice=False))
    line = alt.Chart(alt.NamedData("lines")).mark_line(opacity=0.85, strokeWidth=1.6, strokeJoin="round")
    text = alt.Chart(alt.NamedData("ticks")).mark_text(align="left", dx=6, fontSize=11, color=TEXT_COLOR)
    halo = alt.Chart(alt.NamedData("ticks")).mark_text(
        align="left", dx=6, fontSize=11, stroke="white", strokeWidth=4, strokeJoin="round"
    )
    layers = alt.layer(
        line.encode(across, up, alt.Detail("z:O"), color=alt.Color("color:N", scale=None)),
        halo.encode(across, up, text=alt.Text("text:N")),
        text.encode(across, up, text=alt.Text("text:N")),
    ).properties(width=width, height=HEIGHT - 40)
    note = f"dark: better {value_title}" + ("; orange: the best trial" if best is not None else "")
    return compose_chart(title, layers, {"lines": rows, "ticks": ticks}, note=note)


def _parallel_axis(titles: Sequence[str]) -> alt.X:
    import altair as alt

    axis = alt.Axis(
        values=list(range(len(titles))),
        labelExpr=label_expression(titles),
        orient="top",
        domain=False,
        ticks=False,
        grid=True,
        gridColor="#9aa3ad",
        labelFontSize=12,
        labelColor=TEXT_COLOR,
        labelFontWeight=600,
        labelOverlap=False,
    )
    scale = alt.Scale(domain=[0, max(1, len(titles) - 1)], nice=False)
    return alt.X("axis:Q", title=None, scale=scale, axis=axis)


def pareto_chart(
    table: Table, x: str, y: str, name: str, *, title: str, x_title: str, y_title: str, higher_is_better: bool
) -> Chart:
    """Cost and quality of systems: a labeled dot each, and a line through the Pareto front."""
    import altair as alt

    points = [
        (float(a), float(b), str(n))
        for a, b, n in zip(table.numbers(x), table.numbers(y), table[name], strict=True)
        if a is not None and b is not None
    ]
    if not points:
        raise RegardError(f"Pareto chart {title!r}: there is no finite point to draw")
    front = pareto_front([(a, b) for a, b, _ in points], higher_is_better)
    label_all = len(points) <= MAX_LABELED_DOTS
    rows: list[dict[str, Value]] = [
        {"x": a, "y": b, "name": n if label_all or i in front else "", "front": i in front}
        for i, (a, b, n) in enumerate(points)
    ]
    line: list[dict[str, Value]] = [{"x": points[i][0], "y": points[i][1]} for i in front]
    scale = alt.Scale(zero=False, nice=True, padding=30)
    axis_format: dict[str, Any] = (
        {"format": "~s"} if max(a for a, _, _ in points) >= 1000 else {}
    )  # below, ~s would write milli
    axis = alt.Axis(grid=False, tickCount=6, **axis_format)
    across = alt.X("x:Q", title=x_title, scale=scale, axis=axis)
    up = alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False, padding=24))
    color = alt.condition("datum.front", alt.value(BEST_COLOR), alt.value(PALETTE[0]))
    base = alt.Chart(alt.NamedData("points"))
    path = alt.Chart(alt.NamedData("front")).mark_line(
        interpolate="step-after", color=BEST_COLOR, strokeWidth=1.4, strokeDash=[5, 4]
    )
    layers = alt.layer(
        path.encode(across, up),
        base.mark_point(filled=True, size=DOT_SIZE, opacity=1).encode(across, up, color=color),
        base.mark_text(align="left", dx=8, dy=-8, fontSize=12, color=TEXT_COLOR).encode(
            across, up, text=alt.Text("name:N")
        ),
    ).properties(width=560, height=HEIGHT - 20)
    return compose_chart(title, layers, {"points": rows, "front": line}, note="orange: Pareto front")


def pareto_front(points: Sequence[tuple[float, float]], higher_is_better: bool) -> list[int]:
    """The points that no other point beats in both cost and quality, cheapest first."""
    sign = -1 if higher_is_better else 1
    order = sorted(range(len(points)), key=lambda n: (points[n][0], sign * points[n][1]))
    front: list[int] = []
    for n in order:
        if not front or sign * points[n][1] < sign * points[front[-1]][1]:
            front.append(n)
    return front


def _category_axis(order: Sequence[Value]) -> alt.Axis:
    """An axis with values at equal distances."""
    import altair as alt

    labels = format_column(order)
    angle = 0 if sum(map(len, labels)) < 26 else -35
    return alt.Axis(labelExpr=label_expression(labels), values=list(range(len(order))), labelAngle=angle, grid=False)


def _jitter(n: int) -> float:
    """The offset of the n-th dot from the middle: different for neighbors, and deterministic."""
    return 0.8 * (2 * ((n * 0.618034) % 1) - 1)


def _is_continuous(column: Sequence[Value]) -> bool:
    """Whether values are drawn to scale: floats with many distinct values. Others are drawn at equal distances."""
    return all(isinstance(value, float) for value in column) and len(set(column)) > 6


def _sort_key(value: Value) -> tuple[bool, float, str]:
    return (isinstance(value, str), 0.0 if isinstance(value, str) or value is None else float(value), str(value))


def _axis_heights(
    column: Sequence[Value], log: bool, max_categories: int
) -> tuple[list[float | None], list[tuple[float, str]]]:
    """A column as heights from 0 to 1, and the heights of its labels; a few values are spaced evenly and jittered."""
    numbers = [float(v) for v in column if isinstance(v, float)]
    if len(set(numbers)) > max_categories:
        low, high = min(numbers), max(numbers)
        heights = [None if v is None else _to_unit_interval(float(v), low, high, log) for v in column]
        shares = (0.0, 0.25, 0.5, 0.75, 1.0)
        return heights, [(share, f"{_from_unit_interval(share, low, high, log):.3g}") for share in shares]
    order = sorted(set(column), key=_sort_key)
    top = max(1, len(order) - 1)
    middle = 0.5 if len(order) == 1 else 0.0
    width = min(0.08, 0.25 / len(order)) if len(column) > MAX_LABELED_DOTS else 0.0
    heights = [order.index(value) / top + middle + width * _jitter(n) for n, value in enumerate(column)]
    return heights, [(n / top + middle, text) for n, text in enumerate(format_column(order))]


def _to_unit_interval(value: float, low: float, high: float, log: bool) -> float:
    if log:
        return math.log(value / low) / (math.log(high / low) or 1.0)
    return (value - low) / ((high - low) or 1.0)


def _from_unit_interval(share: float, low: float, high: float, log: bool) -> float:
    return float(low * (high / low) ** share) if log else low + share * (high - low)


def _score_range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        raise RegardError("slice plot: no trial has a score to draw")
    margin = 0.08 * (max(values) - min(values)) or 0.5
    return min(values) - margin, max(values) + margin
