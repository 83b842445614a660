"""Charts of one table: line charts, bar charts, histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart, label_expression
from regard.report.charts.downsample import Point, downsample_points
from regard.report.table import Table, Value
from regard.report.text import display_width, format_column, format_label
from regard.report.theme import HEIGHT, MUTED_COLOR, PALETTE, TEXT_COLOR, WIDTH

if TYPE_CHECKING:
    import altair as alt

MAX_POINTS = 800  # about one for each pixel
MAX_DOTS = 60  # points of a line up to which each is drawn as a dot, too
DASHES: tuple[list[int], ...] = ([1, 0], [6, 3], [2, 2])


@dataclass(frozen=True)
class ValueAxis:
    """An axis of values, with the ends of its scale: without them, the longest bar would look like all there can be."""

    title: str
    limits: tuple[float, float] | None = None


def line_chart(
    table: Table,
    x: str,
    y: str,
    series: str | None = None,
    *,
    title: str,
    x_title: str,
    y_title: str,
    rules: Mapping[str, float] | None = None,
) -> Chart:
    """One line per series. Long ones are downsampled to window means, which a note mentions; short ones have dots.

    `rules` are labeled horizontal lines to compare with. A missing or infinite y leaves a gap in its line.
    """
    import altair as alt

    lines = series_points(table, x, y, series)
    downsampled = {name: downsample_points(points, MAX_POINTS) for name, points in lines.items()}
    dense = {name: points for name, points in downsampled.items() if len(points) > MAX_DOTS}
    sparse = {name: points for name, points in downsampled.items() if len(points) <= MAX_DOTS}

    axis = alt.Axis(grid=False, **whole_ticks(lines))
    across = alt.X("x:Q", title=x_title, scale=alt.Scale(nice=False, zero=False), axis=axis)
    up = alt.Y("y:Q", title=y_title, scale=_value_scale(lines))
    style = series_style(list(lines), legend=series is not None)
    layers: list[alt.Chart] = []
    if dense:
        base = alt.Chart(alt.NamedData("dense"))
        layers.append(base.mark_line(strokeWidth=1.2, strokeJoin="round").encode(across, up, **style))
    if sparse:
        base = alt.Chart(alt.NamedData("sparse"))
        layers.append(base.mark_line(strokeWidth=2, strokeJoin="round").encode(across, up, **style))
        layers.append(base.mark_point(filled=True, size=38, opacity=1).encode(across, up, color=style["color"]))
    layers += rule_layers(up) if rules else []
    datasets: dict[str, list[dict[str, Value]]] = {
        "dense": _long_rows(dense),
        "sparse": _long_rows(sparse),
        "rules": [{"y": height, "name": name} for name, height in (rules or {}).items()],
    }
    picture = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return compose_chart(title, picture, datasets, note=_downsampling_note(lines, downsampled))


def bar_chart(
    table: Table,
    x: str,
    y: str,
    *,
    series: str | None = None,
    interval: tuple[str, str] | None = None,
    title: str,
    x_title: str,
    y_title: str | ValueAxis,
) -> Chart:
    """A bar with its value for each category of x, in the table's order, grouped by series.

    `interval` names the columns of the lower and upper bound, drawn as an error bar. Bars are vertical if all labels
    fit side by side, and horizontal otherwise. Of a scale with ends, `y_title` is a `ValueAxis`.
    """
    import altair as alt

    axis = y_title if isinstance(y_title, ValueAxis) else ValueAxis(y_title)
    rows, categories, names = _bar_rows(table, x, y, series, interval)
    needed_width = len(categories) * max(len(names) * 34 + 20, max(map(display_width, categories)) * 8 + 16)
    upright = needed_width <= WIDTH
    size = (max(320, needed_width), HEIGHT - 40) if upright else (460, len(categories) * (len(names) * 20 + 12))

    base = alt.Chart(alt.NamedData("bars")).encode(**_category_encoding(upright, categories, x_title))
    color = series_style(names, legend=series is not None)["color"]
    layers = [base.mark_bar().encode(color=color, **_value_encoding(upright, axis, "value"))]
    if interval:
        whisker = base.mark_rule(strokeWidth=1.4, color=TEXT_COLOR)
        layers.append(whisker.encode(**_value_encoding(upright, axis, "low", "high")))
    text: dict[str, Any] = {"dy": -5, "baseline": "bottom"} if upright else {"dx": 5, "align": "left"}
    value_labels = base.mark_text(fontSize=12, color=TEXT_COLOR, **text)
    layers.append(value_labels.encode(text=alt.Text("label:N"), **_value_encoding(upright, axis, "top")))
    return compose_chart(title, alt.layer(*layers).properties(width=size[0], height=size[1]), {"bars": rows})


def histogram(
    table: Table,
    column: str,
    *,
    title: str,
    x_title: str,
    y_title: str = "count",
    bins: int = 30,
    limits: tuple[float, float] | None = None,
    rules: Mapping[str, float] | None = None,
) -> Chart:
    """The number of values in bins of equal width with round edges; a note counts missing values.

    `limits` are the ends of a scale, such as 0 and 100, which the bins divide. `rules` are labeled vertical lines to
    compare with.
    """
    import altair as alt

    values = [value for value in table.numbers(column) if value is not None]
    if not values:
        raise RegardError(f"histogram {title!r}: column {column!r} has no finite value to draw")
    rows = _bins(values, bins) if limits is None else _bins_within(values, bins, *limits)
    layers = [
        alt.Chart(alt.NamedData("bins"))
        .mark_bar(binSpacing=1, color=PALETTE[0])
        .encode(
            alt.X("start:Q", bin="binned", title=x_title, scale=alt.Scale(zero=False), axis=alt.Axis(grid=False)),
            alt.X2("stop"),
            alt.Y("count:Q", title=y_title, axis=alt.Axis(tickMinStep=1)),
        )
    ]
    marks: list[dict[str, Value]] = [{"x": value, "name": name} for name, value in (rules or {}).items()]
    if marks:
        base = alt.Chart(alt.NamedData("rules")).encode(alt.X("x:Q"))
        layers.append(base.mark_rule(color=PALETTE[1], strokeWidth=2.5))
        label = base.mark_text(align="left", baseline="bottom", dx=5, fontSize=13, color=PALETTE[1])
        layers.append(label.encode(y=alt.value(0), text=alt.Text("name:N")))
    picture = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT - 60)
    missing = len(table) - len(values)
    datasets = {"bins": rows, **({"rules": marks} if marks else {})}
    return compose_chart(title, picture, datasets, note=f"{missing:,} without a value" if missing else "")


def series_points(table: Table, x: str, y: str, series: str | None) -> dict[str, list[Point]]:
    """The points of each series in order of x; series in order of appearance."""
    names = [format_label(value) for value in table[series]] if series is not None else [""] * len(table)
    lines: dict[str, list[Point]] = {}
    for name, x_value, value in zip(names, table.numbers(x), table.numbers(y), strict=True):
        if x_value is not None:
            lines.setdefault(name, []).append((x_value, value))
    if not any(value is not None for points in lines.values() for _, value in points):
        raise RegardError(f"curves of {y!r} over {x!r}: the table has no finite point to draw")
    return {name: sorted(points, key=lambda point: point[0]) for name, points in lines.items()}


def whole_ticks(lines: Mapping[str, Sequence[Point]]) -> dict[str, Any]:
    """Options of an axis of whole numbers, such as steps: no tick stands between two of them."""
    is_whole = all(float(x).is_integer() for points in lines.values() for x, _ in points)
    return {"tickMinStep": 1} if is_whole else {}


def _value_scale(lines: Mapping[str, Sequence[Point]]) -> alt.Scale:
    """The scale of the values; where all are equal, from 0 to twice that, or to 1."""
    import altair as alt

    values = {value for points in lines.values() for _, value in points if value is not None}
    if len(values) > 1:
        return alt.Scale(zero=False)
    (value,) = values
    return alt.Scale(domain=sorted((0.0, 2 * value or 1.0)))


def _long_rows(lines: Mapping[str, Sequence[Point]]) -> list[dict[str, Value]]:
    return [{"x": x, "y": y, "series": name} for name, points in lines.items() for x, y in points]


def _downsampling_note(lines: Mapping[str, Sequence[Point]], downsampled: Mapping[str, Sequence[Point]]) -> str:
    """A note for lines that show means instead of measurements."""
    notes = [
        f"{name + ': ' if name else ''}mean of about {len(points) / len(downsampled[name]):.0f} points at a time"
        for name, points in lines.items()
        if len(points) > len(downsampled[name])
    ]
    return "; ".join(notes)


def series_style(names: Sequence[str], *, legend: bool) -> dict[str, Any]:
    """A color for each series; after the end of the palette, colors repeat with dashes."""
    import altair as alt

    longest = max(map(display_width, names), default=0)
    legend_options = (
        alt.Legend(
            title=None,
            orient="top",
            columns=max(1, WIDTH // (longest * 8 + 44)),
            symbolType="stroke" if len(names) > len(PALETTE) else "circle",
            symbolLimit=0,
            symbolOpacity=1,  # also where the first layer is a pale band
        )
        if legend
        else None
    )
    colors = [PALETTE[n % len(PALETTE)] for n in range(len(names))]
    scale = alt.Scale(domain=list(names), range=colors)
    style: dict[str, Any] = {"color": alt.Color("series:N", scale=scale, legend=legend_options)}
    if len(names) > len(PALETTE):
        dashes = [DASHES[n // len(PALETTE) % len(DASHES)] for n in range(len(names))]
        style["strokeDash"] = alt.StrokeDash(
            "series:N", scale=alt.Scale(domain=list(names), range=dashes), legend=legend_options
        )
    return style


def rule_layers(up: alt.Y) -> list[alt.Chart]:
    import altair as alt

    base = alt.Chart(alt.NamedData("rules"))
    text = base.mark_text(align="right", baseline="bottom", dy=-4, color=MUTED_COLOR, fontSize=12)
    return [
        base.mark_rule(strokeDash=[5, 4], color=MUTED_COLOR, strokeWidth=1.2).encode(up),
        text.encode(up, x=alt.value("width"), text=alt.Text("name:N")),
    ]


def _bar_rows(
    table: Table, x: str, y: str, series: str | None, interval: tuple[str, str] | None
) -> tuple[list[dict[str, Value]], list[str], list[str]]:
    """One row per bar, with the indices of its category and series; all categories; all series."""
    if not len(table):
        raise RegardError(f"bars of {y!r} over {x!r}: the table has no row to draw")
    row_categories = [format_label(value) for value in table[x]]
    row_series = [format_label(value) for value in table[series]] if series is not None else [""] * len(table)
    categories, names = list(dict.fromkeys(row_categories)), list(dict.fromkeys(row_series))
    values = table.numbers(y)
    low, high = (table.numbers(name) for name in interval) if interval else (values, values)
    texts = format_column(values)
    used_keys: set[tuple[str, str]] = set()
    rows: list[dict[str, Value]] = []
    for n, key in enumerate(zip(row_categories, row_series, strict=True)):
        if key in used_keys:
            raise RegardError(
                f"bars of {y!r}: {key[0]!r} occurs twice in column {x!r}; pass `series` to distinguish the rows"
            )
        used_keys.add(key)
        ends = [end for end in (0, values[n], low[n], high[n]) if end is not None]
        row: dict[str, Value] = {
            "category": categories.index(key[0]),
            "series_index": names.index(key[1]),
            "series": key[1],
        }
        rows.append(row | {"value": values[n], "low": low[n], "high": high[n], "top": max(ends), "label": texts[n]})
    return rows, categories, names


def _category_encoding(upright: bool, categories: Sequence[str], title: str) -> dict[str, Any]:
    """The position of a bar by its category and series, for vertical and horizontal bars."""
    import altair as alt

    axis = alt.Axis(
        labelExpr=label_expression(categories),
        labelAngle=0,
        labelLimit=300,
        labelOverlap=False,
        ticks=False,
        grid=False,
    )
    scale = alt.Scale(paddingInner=0.3, paddingOuter=0.2)
    if upright:
        encoding: dict[str, Any] = {"x": alt.X("category:O", title=title, axis=axis, scale=scale)}
        return encoding | {"xOffset": alt.XOffset("series_index:O")}
    encoding = {"y": alt.Y("category:O", title=title, axis=axis, scale=scale)}
    return encoding | {"yOffset": alt.YOffset("series_index:O")}


def _value_encoding(upright: bool, axis: ValueAxis, start: str, stop: str | None = None) -> dict[str, Any]:
    """A mark from `start` on the value axis, and to `stop` if there is one."""
    import altair as alt

    scale = alt.Scale(domain=list(axis.limits), nice=False) if axis.limits else alt.Scale()
    if upright:
        encoding: dict[str, Any] = {"y": alt.Y(f"{start}:Q", title=axis.title, scale=scale)}
        return encoding | ({"y2": alt.Y2(stop)} if stop else {})
    encoding = {"x": alt.X(f"{start}:Q", title=axis.title, scale=scale, axis=alt.Axis(tickCount=6))}
    return encoding | ({"x2": alt.X2(stop)} if stop else {})


def _bins(values: Sequence[float], bins: int) -> list[dict[str, Value]]:
    low, high = min(values), max(values)
    all_integers = all(isinstance(value, int) for value in values)
    step = round_step((high - low) / max(1, bins), minimum=1 if all_integers else 0)
    # Integers in bins of width 1 are centered on their bar.
    start = low - 0.5 if all_integers and step == 1 else math.floor(low / step) * step
    counts = [0] * (math.floor((high - start) / step) + 1)
    for value in values:
        # Clamped: rounding may put the lowest value slightly below the first edge.
        counts[min(len(counts) - 1, max(0, math.floor((value - start) / step)))] += 1
    borders = [float(f"{start + n * step:.12g}") for n in range(len(counts) + 1)]
    return [{"start": borders[n], "stop": borders[n + 1], "count": count} for n, count in enumerate(counts)]


def _bins_within(values: Sequence[float], bins: int, low: float, high: float) -> list[dict[str, Value]]:
    """Bins that divide a scale; its upper end belongs to the last one."""
    step, counts = (high - low) / bins, [0] * bins
    for value in values:
        counts[min(bins - 1, max(0, math.floor((value - low) / step)))] += 1
    return [{"start": low + n * step, "stop": low + (n + 1) * step, "count": count} for n, count in enumerate(counts)]


def round_step(step: float, minimum: float) -> float:
    """The next larger step that is 1, 2 or 5 times a power of ten."""
    if step <= minimum:
        return minimum or 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return max(minimum, next(power * digit for digit in (1, 2, 5, 10) if power * digit >= step * (1 - 1e-9)))
