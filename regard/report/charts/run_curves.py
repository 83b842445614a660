"""Charts of many runs: curves over one another with their names at their ends, and side by side on common axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose, pick
from regard.report.charts.curves import DASHES, line_points
from regard.report.charts.downsample import Point, thin
from regard.report.table import Table, Value
from regard.report.text import cells
from regard.report.theme import INK, PALETTE, SOFT_INK

if TYPE_CHECKING:
    import altair as alt

POINTS = 240  # of one curve: as many as a narrow panel has pixels
LETTER, LINE = 6.6, 15  # pixels that a letter of a label is wide, and a label high
PANEL, HEIGHT = 300, 260
FAINT = "#c3c9d0"
Curves = Mapping[str, Sequence[Point]]


@dataclass(frozen=True)
class Inks:
    """A colour and a dash for each name; names that are not among the first are grey and nameless."""

    names: Sequence[str]

    def colour(self, name: str) -> str:
        return PALETTE[self.names.index(name) % len(PALETTE)] if name in self.names else FAINT

    def dash(self, name: str) -> list[int]:
        return DASHES[self.names.index(name) // len(PALETTE) % len(DASHES)] if name in self.names else [1, 0]


def overlay(
    tables: Mapping[str, Table],
    x: str,
    y: str,
    series: str,
    *,
    title: str,
    x_title: str,
    y_title: str,
    named: Sequence[str],
) -> Chart:
    """A panel for each table, all on one vertical axis; each curve in its colour with its name at its end.

    `named` are the curves that have a colour and a name; the others stay grey behind them.
    """
    import altair as alt

    panels = {head: _thinned(line_points(table, x, y, series)) for head, table in tables.items()}
    every = [points for curves in panels.values() for points in curves.values()]
    low, high = _span([point for points in every for point in _settled(points)])
    inks, wide = Inks(named), PANEL if len(panels) > 1 else 560
    datasets: dict[str, list[dict[str, Value]]] = {}
    drawn: list[Any] = []
    for number, (head, curves) in enumerate(panels.items()):
        ends = _labels({name: curves[name] for name in named if name in curves}, low, high, HEIGHT)
        datasets[f"lines{number}"] = _rows(curves, inks)
        datasets[f"ends{number}"] = [{**end, "colour": inks.colour(str(end["name"]))} for end in ends]
        up = alt.Y("y:Q", title=y_title if number == 0 else None, scale=alt.Scale(domain=[low, high], nice=False))
        layers = _curve_layers(f"lines{number}", up, x_title)
        layers.append(_end_labels(f"ends{number}", up))
        panel = alt.layer(*layers).properties(width=wide, height=HEIGHT)
        drawn.append(panel.properties(title=_head(head)) if len(panels) > 1 else panel)
    room = max((cells(name) for name in named), default=0) * LETTER
    picture = alt.hconcat(*drawn, spacing=max(30, room + 28)) if len(drawn) > 1 else drawn[0]
    notes = (_grey_note(panels, named), _above_note(every, high))
    return compose(title, picture, datasets, note="; ".join(note for note in notes if note))


def profile(table: Table, x: str, y: str, series: str, *, title: str, x_title: str, y_title: str) -> Chart:
    """A curve for each series over categories in the table's order, its name at its end."""
    import altair as alt

    categories = list(dict.fromkeys(str(value) for value in table[x]))
    places = [categories.index(str(value)) for value in table[x]]
    curves = line_points(Table({**table.columns, "place": places}), "place", y, series)
    inks = Inks(list(curves))
    low, high = _span([point for points in curves.values() for point in points])
    up = alt.Y("y:Q", title=y_title, scale=alt.Scale(domain=[low, high], nice=False))
    axis = alt.Axis(labelExpr=pick(categories), values=list(range(len(categories))), grid=False, labelAngle=0)
    across = alt.X("x:Q", title=x_title, axis=axis, scale=alt.Scale(domain=[0, len(categories) - 1], nice=False))
    base = alt.Chart(alt.NamedData("lines"))
    colour = alt.Color("colour:N", scale=None)
    layers: list[Any] = [
        base.mark_line(strokeWidth=2).encode(across, up, alt.Detail("series:N"), color=colour, strokeDash=_dash()),
        base.mark_point(filled=True, size=36, opacity=1).encode(across, up, color=colour),
        _end_labels("ends", up),
    ]
    ends = [{**end, "colour": inks.colour(str(end["name"]))} for end in _labels(curves, low, high, HEIGHT)]
    picture = alt.layer(*layers).properties(width=560, height=HEIGHT)
    return compose(title, picture, {"lines": _rows(curves, inks), "ends": ends})


def panels(
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

    heads = list(dict.fromkeys(str(value) for value in table[panel]))
    kinds = list(dict.fromkeys(str(value) for value in table[series]))
    rows: list[dict[str, Value]] = []
    for head in heads:
        mine = [n for n, value in enumerate(table[panel]) if str(value) == head]
        part = Table({name: [column[n] for n in mine] for name, column in table.columns.items()})
        for kind, points in _thinned(line_points(part, x, y, series), 90).items():
            rows += [{"x": at, "y": value, "series": kind, "panel": heads.index(head)} for at, value in points]
    columns = min(4, len(heads))
    size = (150, 110) if columns > 3 else (200, 140)
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=kinds, range=list(PALETTE[: len(kinds)])),
        legend=alt.Legend(title=None, orient="top", symbolType="stroke"),
    )
    quiet = alt.Axis(grid=False, tickCount=4, title=None)
    lines = alt.layer(
        alt.Chart()
        .mark_line(strokeWidth=1.6, strokeJoin="round")
        .encode(
            alt.X("x:Q", axis=quiet, scale=alt.Scale(nice=False)),
            alt.Y("y:Q", axis=alt.Axis(tickCount=4, title=None), scale=alt.Scale(zero=False)),
            color=colour,
        ),
        data=alt.NamedData("lines"),
    ).properties(width=size[0], height=size[1])
    header = alt.Header(title=None, labelExpr=pick(heads), labelFontSize=12, labelColor=INK, labelAnchor="start")
    picture = lines.facet(facet=alt.Facet("panel:O", header=header), columns=columns, spacing=14)
    return compose(title, picture, {"lines": rows}, note=f"{y_title}, over {x_title}; the same axes in every panel")


def distributions(table: Table, column: str, series: str, *, title: str, x_title: str, bins: int = 20) -> Chart:
    """The shape of a column for each series, one below the other on the same axes, with a mark at the median."""
    import altair as alt

    names = list(dict.fromkeys(str(value) for value in table[series]))
    values: dict[str, list[float]] = {name: [] for name in names}
    for name, value in zip(table[series], table.numbers(column), strict=True):
        if value is not None:
            values[str(name)].append(value)
    step = 100 / bins
    rows: list[dict[str, Value]] = []
    marks: list[dict[str, Value]] = []
    for n, name in enumerate(names):
        counts = [0] * bins
        for value in values[name]:
            counts[min(bins - 1, int(value / step))] += 1
        share = max(1, len(values[name]))
        rows += [{"a": i * step, "b": (i + 1) * step, "n": 100 * c / share, "panel": n} for i, c in enumerate(counts)]
        middle = sorted(values[name])[len(values[name]) // 2] if values[name] else 0.0
        marks.append({"x": middle, "panel": n, "text": f"median {middle:.0f}"})
    top = max((float(row["n"] or 0) for row in rows), default=1.0)
    across = alt.X("a:Q", title=x_title, bin="binned", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(grid=False))
    bar = (
        alt.Chart()
        .mark_bar(color=PALETTE[0], binSpacing=1)
        .encode(
            across,
            alt.X2("b"),
            alt.Y("n:Q", title=None, axis=alt.Axis(tickCount=3), scale=alt.Scale(domain=[0, 1.35 * top])),
        )
    )
    chosen = alt.Chart().transform_filter("isValid(datum.text)")
    rule = chosen.mark_rule(color=PALETTE[1], strokeWidth=2).encode(alt.X("x:Q"))
    text = chosen.mark_text(align="left", baseline="top", dx=5, color=PALETTE[1], fontSize=12).encode(
        alt.X("x:Q"), y=alt.value(0), text=alt.Text("text:N")
    )
    header = alt.Header(
        title=None,
        labelExpr=pick(names),
        labelAngle=0,
        labelAlign="left",
        labelFontSize=12,
        labelColor=INK,
        labelLimit=170,
    )
    layers = alt.layer(bar, rule, text, data=alt.NamedData("bins")).properties(width=460, height=74)
    picture = layers.facet(row=alt.Row("panel:O", header=header), spacing=8)
    return compose(title, picture, {"bins": [*rows, *marks]}, note="in percent of the sentences")


def _thinned(curves: Curves, limit: int = POINTS) -> dict[str, list[Point]]:
    return {name: thin(list(points), limit) for name, points in curves.items()}


def _rows(curves: Curves, inks: Inks) -> list[dict[str, Value]]:
    """Every point with its look; those in grey first, so that the others lie above them."""
    order = sorted(curves, key=lambda name: name in inks.names)
    return [
        {"x": x, "y": y, "series": name, "colour": inks.colour(name), "dash": inks.dash(name) != [1, 0], "z": n}
        for n, name in enumerate(order)
        for x, y in curves[name]
    ]


def _curve_layers(data: str, up: alt.Y, x_title: str) -> list[Any]:
    import altair as alt

    across = alt.X(
        "x:Q", title=x_title, axis=alt.Axis(grid=False, tickCount=6), scale=alt.Scale(nice=False, zero=False)
    )
    line = alt.Chart(alt.NamedData(data)).mark_line(strokeWidth=1.8, strokeJoin="round", clip=True)
    colour = alt.Color("colour:N", scale=None)
    return [line.encode(across, up, alt.Detail("z:O"), color=colour, strokeDash=_dash())]


def _dash() -> alt.StrokeDash:
    import altair as alt

    return alt.StrokeDash("dash:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [6, 3]]), legend=None)


def _end_labels(data: str, up: alt.Y) -> Any:
    import altair as alt

    text = alt.Chart(alt.NamedData(data)).mark_text(align="left", dx=6, fontSize=12, fontWeight=600, clip=False)
    return text.encode(up, x=alt.value("width"), text=alt.Text("name:N"), color=alt.Color("colour:N", scale=None))


def _labels(curves: Curves, low: float, high: float, height: float) -> list[dict[str, Value]]:
    """Names at the heights where their curves end, moved apart until none covers another."""
    ends = {name: last for name, points in curves.items() if (last := _last(points)) is not None}
    order = sorted(ends, key=lambda name: ends[name])
    gap = (high - low) * LINE / height
    places: list[float] = []
    for name in order:
        places.append(max(ends[name], places[-1] + gap) if places else ends[name])
    over = places[-1] - high if places else 0.0
    if over > 0:  # too far up: move down from the top
        ceiling = high
        for n in reversed(range(len(places))):
            places[n] = min(places[n], ceiling)
            ceiling = places[n] - gap
    return [{"name": name, "y": place} for name, place in zip(order, places, strict=True)]


def _last(points: Sequence[Point]) -> float | None:
    return next((value for _, value in reversed(points) if value is not None), None)


def _span(points: Sequence[Point]) -> tuple[float, float]:
    values = [value for _, value in points if value is not None]
    if not values:
        raise RegardError("curves of many runs: there is no finite point to draw")
    room = 0.05 * (max(values) - min(values)) or 0.5
    return min(values) - room, max(values) + room


def _settled(points: Sequence[Point]) -> Sequence[Point]:
    """A curve without its first twentieth, in which a loss falls so far that all the rest would look flat."""
    return points[len(points) // 20 :]


def _above_note(curves: Sequence[Sequence[Point]], high: float) -> str:
    above = any(value is not None and value > high for points in curves for _, value in points)
    return "the first moments lie above the picture" if above else ""


def _head(text: str) -> dict[str, Any]:
    return {"text": text, "fontSize": 13, "fontWeight": "normal", "color": SOFT_INK, "offset": 6}


def _grey_note(panels: Mapping[str, Curves], named: Sequence[str]) -> str:
    grey = {name for curves in panels.values() for name in curves} - set(named)
    return f"in grey: the other {len(grey)}" if grey else ""
