"""Curves with intervals on plain or logarithmic axes, as a chart and as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.errors import RegardError
from regard.report.chart import Chart, compose_chart
from regard.report.charts.curves import rule_layers, series_style
from regard.report.table import Table, Value
from regard.report.text import format_label
from regard.report.theme import HEIGHT, WIDTH

MARKS = "●○▲△■□◆◇"
ROWS = 12
"""Lines of the picture in a terminal."""
MAX_TICKS = 12
"""Values of x up to which each has a tick, and nothing else."""
COVERED = 0.01
"""How near two curves are, as a share of the axis, for the one to be covered by the other."""
Points = list[dict[str, Any]]


@dataclass(frozen=True)
class CurvePicture:
    """A line with dots for each series, and a band where there is an interval."""

    table: Table
    x: str
    y: str
    series: str | None = None
    interval: tuple[str, str] | None = None
    """The columns of the lower and the upper bound."""
    log: str = ""
    """Which axes are logarithmic: "", "x", "y" or "xy"."""
    rules: Mapping[str, float] = field(default_factory=dict)
    """Labeled horizontal lines to compare with, as chance."""

    def chart(self, title: str) -> Chart:
        import altair as alt

        points = self._points()
        names = list(dict.fromkeys(point["series"] for point in points))
        covered = self._covered(names, points)
        points = [point | {"width": 8 if point["series"] in covered else 2} for point in points]
        across = alt.X("x:Q", title=self.x, scale=self._scale("x", points), axis=self._x_axis(points))
        up = alt.Y("y:Q", title=self.y, scale=self._scale("y", points))
        style = series_style(names, legend=self.series is not None)
        base = alt.Chart(alt.NamedData("points"))
        layers = [
            base.mark_line(strokeJoin="round").encode(
                across, up, strokeWidth=alt.StrokeWidth("width:Q", scale=None), **style
            ),
            base.mark_point(filled=True, size=38, opacity=1).encode(across, up, color=style["color"]),
        ]
        if self.interval:
            band = base.mark_area(opacity=0.16).encode(across, up.copy(), color=style["color"])
            layers.insert(0, band.encode(y=alt.Y("low:Q", title=self.y, scale=self._scale("y", points)), y2="high:Q"))
        layers += rule_layers(up) if self.rules else []
        rules: list[dict[str, Value]] = [{"y": height, "name": name} for name, height in self.rules.items()]
        picture = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
        return compose_chart(title, picture, {"points": points, "rules": rules})

    def text(self, width: int) -> str:
        """Dots in a frame of characters, with a legend of the series and the ends of both axes."""
        points = self._points()
        names = list(dict.fromkeys(point["series"] for point in points))
        ends_y = _ends([point["y"] for point in points] + list(self.rules.values()))
        labels = [f"{end:.3g}" for end in ends_y]
        margin = max(map(len, labels)) + 1
        columns = max(10, width - margin - 1)
        grid = [[" "] * columns for _ in range(ROWS)]
        for height in self.rules.values():
            grid[self._place("y", height, ends_y, ROWS)][:] = "┄" * columns
        ends_x = _ends([point["x"] for point in points])
        for point in points:
            row = self._place("y", point["y"], ends_y, ROWS)
            column = self._place("x", point["x"], ends_x, columns)
            grid[row][column] = MARKS[names.index(point["series"]) % len(MARKS)]
        lines = [self._heading(names)]
        for n in range(ROWS - 1, -1, -1):
            label = labels[1] if n == ROWS - 1 else labels[0] if n == 0 else ""
            lines.append(f"{label:>{margin - 1}} │" + "".join(grid[n]).rstrip())
        low, high = (f"{end:g}" for end in ends_x)
        lines.append(" " * margin + "└" + "─" * columns)
        lines.append(f"{' ' * (margin + 1)}{low}{self.x:^{max(1, columns - len(low) - len(high))}}{high}")
        return "\n".join(lines)

    def _heading(self, names: Sequence[str]) -> str:
        rules = [f"┄ {name}" for name in self.rules]
        marks = [f"{MARKS[n % len(MARKS)]} {name}" for n, name in enumerate(names) if name]
        return "   ".join([self.y, *marks, *rules])

    def _points(self) -> Points:
        series = self.table[self.series] if self.series is not None else [""] * len(self.table)
        low, high = self.interval or (self.y, self.y)
        columns = [self.table.numbers(name) for name in (self.x, self.y, low, high)]
        points = [
            {"series": format_label(name) if name != "" else "", "x": x, "y": y, "low": bottom, "high": top}
            for name, x, y, bottom, top in zip(series, *columns, strict=True)
            if x is not None and y is not None
        ]
        if not points:
            raise RegardError(f"curves of {self.y!r} over {self.x!r}: the table has no finite point to draw")
        for axis in self.log:
            if any(point[axis] <= 0 for point in points):
                raise RegardError(f"curves of {self.y!r} over {self.x!r}: a logarithmic axis needs values above 0")
        return points

    def _covered(self, names: Sequence[str], points: Points) -> set[str]:
        """Series that a later one hides: they are drawn wider, so that they can be seen beneath it."""
        ends = _ends(point["y"] for point in points)
        curves = {
            name: {p["x"]: self._share("y", p["y"], ends) for p in points if p["series"] == name} for name in names
        }

        def hides(upper: Mapping[float, float], lower: Mapping[float, float]) -> bool:
            return lower.keys() <= upper.keys() and all(abs(upper[x] - y) < COVERED for x, y in lower.items())

        return {
            name for n, name in enumerate(names) if any(hides(curves[other], curves[name]) for other in names[n + 1 :])
        }

    def _scale(self, axis: str, points: Points) -> Any:
        import altair as alt

        if axis not in self.log:
            return alt.Scale(zero=False, nice=axis == "y")
        return alt.Scale(type="log", base=2 if axis == "x" else 10, nice=False)

    def _x_axis(self, points: Points) -> Any:
        """Ticks where there are points, if these are few or the axis is logarithmic."""
        import altair as alt

        values = sorted({point["x"] for point in points})
        if "x" not in self.log and len(values) > MAX_TICKS:
            counts = all(float(value).is_integer() for value in values)
            return alt.Axis(grid=False, tickMinStep=1 if counts else alt.Undefined)
        return alt.Axis(grid=False, values=values, format=".6~g")

    def _place(self, axis: str, value: float, ends: tuple[float, float], cells: int) -> int:
        """The cell of a value between the ends of its axis."""
        return min(cells - 1, max(0, round(self._share(axis, value, ends) * (cells - 1))))

    def _share(self, axis: str, value: float, ends: tuple[float, float]) -> float:
        """Where a value lies between the ends of its axis, from 0 to 1."""
        low, high, value = (math.log(one) if axis in self.log else one for one in (*ends, value))
        return (value - low) / ((high - low) or 1)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    finite = list(values)
    return min(finite), max(finite)
