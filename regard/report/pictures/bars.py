"""Bars, as a chart and as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.report.chart import Chart
from regard.report.charts.curves import bar_chart
from regard.report.table import Table
from regard.report.text import display_width, format_column, format_label

EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True)
class BarPicture:
    """A bar for each row of a table, or for each category and series of it."""

    table: Table
    x: str
    y: str
    series: str | None = None
    interval: tuple[str, str] | None = None
    """The columns of the lower and the upper bound."""

    def chart(self, title: str) -> Chart:
        return bar_chart(
            self.table,
            self.x,
            self.y,
            series=self.series,
            interval=self.interval,
            title=title,
            x_title=self.x,
            y_title=self.y,
        )

    def text(self, width: int) -> str:
        """A line for each bar; those below 0 grow to the left."""
        values = self.table.numbers(self.y)
        labels, texts = self._labels(), format_column(values)
        label_width, text_width = max(map(display_width, labels)), max(map(len, texts))
        room = max(8, width - label_width - text_width - 4)
        finite = [value for value in values if value is not None]
        low, high = min(0.0, *finite, 0.0), max(0.0, *finite, 0.0)
        unit = room / (high - low or 1)
        lines = [f"{self.y} by {self.x}"]
        for label, value, text in zip(labels, values, texts, strict=True):
            left = " " * round(-low * unit) if value is None or value >= 0 else _negative_bar(value, low, unit)
            bar = _bar(max(0.0, value or 0.0) * unit)
            lines.append(f"{label}{' ' * (label_width - display_width(label))}  {text:>{text_width}}  {left}{bar}")
        return "\n".join(line.rstrip() for line in lines)

    def _labels(self) -> list[str]:
        categories: Sequence[str] = [format_label(value) for value in self.table[self.x]]
        if self.series is None:
            return list(categories)
        series = [format_label(value) for value in self.table[self.series]]
        return [f"{category}, {name}" for category, name in zip(categories, series, strict=True)]


def _bar(length: float) -> str:
    whole, part = divmod(round(length * 8), 8)
    return "█" * whole + EIGHTHS[part].strip()


def _negative_bar(value: float, low: float, unit: float) -> str:
    return "░" * round(-value * unit) if value == low else f"{'░' * round(-value * unit):>{round(-low * unit)}}"
