"""Charts of hyperparameter studies: slice plots, parallel coordinates, and the Pareto front of cost and quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart, label_expression
from regard.report.readout import join_readout
from regard.report.table import Table, Value
from regard.report.text import format_column, format_label
from regard.report.theme import HEIGHT, PALETTE, SEQUENTIAL_COLORS, TEXT_COLOR, WIDTH

if TYPE_CHECKING:
    import altair as alt

BEST_COLOR = PALETTE[1]
DOT_SIZE = 70
MAX_LABELED_DOTS = 12  # dots that can be labeled without overlap
MAX_CHOICES = 6  # distinct numbers that are drawn as choices where no range is known
UNRANKED_COLOR = "#8a939c"


@dataclass(frozen=True)
class Sweep:
    """The trials of a study: their settings and scores."""

    ranked: Table
    """A column for each setting and one for the score."""
    settings: Sequence[str]
    score: str
    score_title: str
    best: int | None
    """The row of the best trial."""
    scales: Mapping[str, str] = field(default_factory=dict)
    """`linear` or `log` for each setting that has a range; the others are choices."""
    unranked: Table = field(default_factory=lambda: Table({}))
    """The same columns of trials that were stopped early or have collapsed; a score may be unknown."""
    warnings: Sequence[str] = ()
    """What a reader of the chart must know, in words."""

    def column(self, name: str) -> list[Value]:
        """A setting of all trials, the ranked ones first."""
        return [*self.ranked[name], *(self.unranked[name] if len(self.unranked) else ())]

    def unranked_scores(self, low: float, high: float) -> list[float | None]:
        """The scores of trials that are not ranked, at the edge where they are beyond the scale."""
        scores = self.unranked.numbers(self.score) if len(self.unranked) else []
        return [None if score is None else min(high, max(low, score)) for score in scores]

    def note(self, *marks: str) -> str:
        """The legend and the warnings, for the picture."""
        return "; ".join([*(mark for mark in marks if mark), *self.warnings])


def slice_plot(sweep: Sweep, *, title: str) -> Chart:
    """A panel for each setting: every trial at the setting's value and its score, the best one marked."""
    import altair as alt

    names = [name for name in sweep.settings if len(set(sweep.column(name))) > 1] or list(sweep.settings)
    if not names:
        raise RegardError("slice plot: no setting varies, so there is nothing to draw")
    low, high = _score_range([score for score in sweep.ranked.numbers(sweep.score) if score is not None])
    panels: list[Any] = []
    datasets: dict[str, list[dict[str, Value]]] = {}
    for number, name in enumerate(names):
        panel = _slice_panel(sweep, name, low, high)
        data = {f"{part}{number}": rows for part, rows in panel.items()}
        datasets |= data
        across = _slice_axis(sweep.column(name), name, _scale_of(sweep, name))
        up_title = sweep.score_title if number % 3 == 0 else None
        up = alt.Y("y:Q", title=up_title, scale=alt.Scale(domain=[low, high], nice=False))
        color = alt.condition("datum.best", alt.value(BEST_COLOR), alt.value(PALETTE[0]))
        dots, others, means = (alt.Chart(alt.NamedData(part)) for part in data)
        layers = [
            others.mark_point(filled=False, size=DOT_SIZE, color=UNRANKED_COLOR).encode(across, up),
            dots.mark_point(filled=True, size=DOT_SIZE, opacity=0.75).encode(across, up, color=color),
            means.mark_tick(orient="horizontal", color=TEXT_COLOR, thickness=2, size=34).encode(across, up),
        ]
        panels.append(alt.layer(*layers).properties(width=190, height=180))
    has_means = any(rows for part, rows in datasets.items() if part.startswith("mean"))
    note = sweep.note(
        "orange: the best trial" if sweep.best is not None else "",
        "black bars: means of two or more" if has_means else "",
        "hollow: not ranked, at the edge where beyond the scale" if len(sweep.unranked) else "",
    )
    return compose_chart(title, alt.concat(*panels, columns=3, spacing=18), datasets, note=note)


def _slice_panel(sweep: Sweep, name: str, low: float, high: float) -> dict[str, list[dict[str, Value]]]:
    """The dots of a panel, those of trials that are not ranked, and the mean of each value that two trials have."""
    column = sweep.column(name)
    scores = [*sweep.ranked.numbers(sweep.score), *sweep.unranked_scores(low, high)]
    order = sorted(set(column), key=_sort_key)
    is_continuous, is_crowded = _scale_of(sweep, name) is not None, len(column) > MAX_LABELED_DOTS
    panel: dict[str, list[dict[str, Value]]] = {"dots": [], "others": [], "mean": []}
    scores_by_value: dict[Value, list[float]] = {}
    for n, (setting_value, score) in enumerate(zip(column, scores, strict=True)):
        if score is None or (is_continuous and setting_value is None):
            continue
        offset = 0.3 * _jitter(n) if is_crowded else 0
        x = setting_value if is_continuous else order.index(setting_value) + offset
        if n < len(sweep.ranked):
            panel["dots"].append({"x": x, "y": score, "best": n == sweep.best})
            scores_by_value.setdefault(setting_value, []).append(score)
        else:
            panel["others"].append({"x": x, "y": score})
    panel["mean"] = [
        {"x": value if is_continuous else order.index(value), "y": sum(values) / len(values)}
        for value, values in scores_by_value.items()
        if len(values) > 1
    ]
    return panel


def _slice_axis(column: Sequence[Value], name: str, scale_type: str | None) -> alt.X:
    import altair as alt

    if scale_type is not None:
        log = scale_type == "log"
        scale = alt.Scale(type="log" if log else "linear", zero=False, nice=not log, padding=12)
        whole: dict[str, Any] = {"tickMinStep": 1} if all(isinstance(value, int) for value in column) else {}
        return alt.X("x:Q", title=name, scale=scale, axis=alt.Axis(grid=False, tickCount=5, **whole))
    order = sorted(set(column), key=_sort_key)
    scale = alt.Scale(domain=[-0.5, len(order) - 0.5], nice=False)
    return alt.X("x:Q", title=name, scale=scale, axis=_category_axis(order))


def parallel_coordinates(sweep: Sweep, *, title: str, higher_is_better: bool) -> Chart:
    """A line for each trial through its value of every setting to its score; strong colors are better ones.

    The best trial is orange.
    """
    import altair as alt

    axes, num_ranked = [*sweep.settings, sweep.score], len(sweep.ranked)
    ticks: list[dict[str, Value]] = []
    heights: dict[str, list[float | None]] = {}
    for axis_index, name in enumerate(axes):
        column = sweep.column(name) if name != sweep.score else sweep.ranked[name]
        heights[name], marks = _axis_heights(column, "linear" if name == sweep.score else _scale_of(sweep, name))
        ticks += [{"axis": axis_index, "y": y, "text": text} for y, text in marks]
    goodness = [y if y is None or higher_is_better else 1 - y for y in heights[sweep.score]]
    heights[sweep.score] += _unranked_heights(sweep)
    rows: list[dict[str, Value]] = []
    ranked_order = sorted(range(num_ranked), key=lambda n: (n == sweep.best, goodness[n] or 0.0))
    for rank, n in enumerate([*range(num_ranked, len(sweep.column(axes[0]))), *ranked_order]):
        is_ranked = n < num_ranked
        share = goodness[n] if is_ranked else None
        shade = UNRANKED_COLOR if share is None else SEQUENTIAL_COLORS[2 + round(share * (len(SEQUENTIAL_COLORS) - 3))]
        color = BEST_COLOR if n == sweep.best else shade
        line_style: dict[str, Value] = {"z": rank, "color": color, "dashed": not is_ranked}
        line_style["readout"] = _read_trial(sweep, n)
        rows += [{"axis": i, "y": heights[name][n], **line_style} for i, name in enumerate(axes)]
    width = max(120, min(WIDTH, 150 * (len(axes) - 1)))
    across = _parallel_axis([*sweep.settings, sweep.score_title])
    up = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.08, 1.08], nice=False))
    line = alt.Chart(alt.NamedData("lines")).mark_line(opacity=0.85, strokeWidth=1.6, strokeJoin="round")
    text = alt.Chart(alt.NamedData("ticks")).mark_text(align="left", dx=6, fontSize=11, color=TEXT_COLOR)
    halo = alt.Chart(alt.NamedData("ticks")).mark_text(
        align="left", dx=6, fontSize=11, stroke="white", strokeWidth=4, strokeJoin="round"
    )
    dash = alt.StrokeDash("dashed:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [5, 4]]), legend=None)
    layers = alt.layer(
        line.encode(across, up, alt.Detail("z:O"), dash, color=alt.Color("color:N", scale=None)),
        halo.encode(across, up, text=alt.Text("text:N")),
        text.encode(across, up, text=alt.Text("text:N")),
    ).properties(width=width, height=HEIGHT - 40)
    note = sweep.note(
        f"the stronger the color, the better {sweep.score_title}",
        "orange: the best trial" if sweep.best is not None else "",
        "gray, dashed: not ranked" if len(sweep.unranked) else "",
    )
    return compose_chart(title, layers, {"lines": rows, "ticks": ticks}, note=note)


def _read_trial(sweep: Sweep, n: int) -> str:
    """A trial in words: its score, and its settings."""
    scores = [*sweep.ranked[sweep.score], *(sweep.unranked[sweep.score] if len(sweep.unranked) else ())]
    settings = ", ".join(f"{name} {format_label(sweep.column(name)[n])}" for name in sweep.settings)
    return join_readout([sweep.score_title, format_label(scores[n])], settings)


def _unranked_heights(sweep: Sweep) -> list[float | None]:
    """The heights on the axis of scores of trials that are not ranked."""
    scores = [score for score in sweep.ranked.numbers(sweep.score) if score is not None]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [
        None if score is None else _to_unit_interval(score, low, high, log=False)
        for score in sweep.unranked_scores(low, high)
    ]


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
        {
            "x": a,
            "y": b,
            "name": n if label_all or i in front else "",
            "front": i in front,
            "readout": join_readout([n], f"{x_title} {format_label(a)}, {y_title} {format_label(b)}"),
        }
        for i, (a, b, n) in enumerate(points)
    ]
    line: list[dict[str, Value]] = [{"x": points[i][0], "y": points[i][1], "readout": None} for i in front]
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


def _scale_of(sweep: Sweep, name: str) -> str | None:
    """The scale of a setting's axis; None for choices, which are drawn at equal distances."""
    column = sweep.column(name)
    is_many = all(isinstance(value, float) for value in column) and len(set(column)) > MAX_CHOICES
    return sweep.scales.get(name, "linear" if is_many else None)


def _sort_key(value: Value) -> tuple[bool, float, str]:
    return (isinstance(value, str), 0.0 if isinstance(value, str) or value is None else float(value), str(value))


def _axis_heights(
    column: Sequence[Value], scale_type: str | None
) -> tuple[list[float | None], list[tuple[float, str]]]:
    """A column as heights from 0 to 1, and the heights of its labels; choices are spaced evenly and jittered."""
    numbers = [float(v) for v in column if isinstance(v, int | float)]
    if scale_type is not None and len(set(numbers)) > 1:
        low, high, log = min(numbers), max(numbers), scale_type == "log"
        heights = [_to_unit_interval(float(v), low, high, log) if isinstance(v, int | float) else None for v in column]
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
