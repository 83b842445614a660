"""A matrix of shades, as a chart and as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.report.chart import Chart
from regard.report.charts.heatmap import heatmap_chart
from regard.report.table import Table
from regard.report.text import display_width


@dataclass(frozen=True)
class MatrixPicture:
    """A cell for each weight: rows are queries, columns are keys."""

    weights: Sequence[Sequence[float | None]]
    rows: Sequence[str]
    columns: Sequence[str]
    row_title: str = "query"
    column_title: str = "key"
    value_title: str = "weight"
    domain: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def from_table(
        cls,
        table: Table,
        rows: Sequence[str] = (),
        row_title: str = "query",
        column_title: str = "key",
        value_title: str = "weight",
    ) -> "MatrixPicture":
        """A table that has a column for each key; rows without names are numbered."""
        columns = list(table.columns)
        weights = [list(row) for row in zip(*map(table.numbers, columns), strict=True)]
        names = rows or [str(n + 1) for n in range(len(weights))]
        return cls(weights, names, columns, row_title, column_title, value_title)

    def chart(self, title: str) -> Chart:
        return heatmap_chart(
            self.weights,
            self.rows,
            self.columns,
            title=title,
            row_title=self.row_title,
            column_title=self.column_title,
            value_title=self.value_title,
            domain=self.domain,
        )

    def text(self, width: int) -> str:
        """Shades, two characters a cell; numbers where they fit."""
        label_width = max(map(display_width, self.rows))
        has_numbers = label_width + 1 + 5 * len(self.columns) <= width
        lines = [f"{self.value_title}: {self.row_title} by {self.column_title}"]
        if has_numbers:
            lines.append(" " * label_width + "".join(f" {name[:4]:>4}" for name in self.columns))
        for name, row in zip(self.rows, self.weights, strict=True):
            cells = (f" {_number(weight)}" if has_numbers else self._shade(weight) for weight in row)
            lines.append(name + " " * (label_width - display_width(name)) + " " * (not has_numbers) + "".join(cells))
        return "\n".join(lines)

    def _shade(self, weight: float | None) -> str:
        if weight is None:
            return "  "
        low, high = self.domain
        share = (weight - low) / ((high - low) or 1)
        return "·░▒▓█"[min(4, max(0, int(share * 5)))] * 2


def _number(weight: float | None) -> str:
    if weight is None:
        return "    "
    text = f"{weight:.2f}" if abs(weight) < 10 else f"{weight:.0f}"
    return f"{text.replace('0.', '.', 1):>4}"[:4] if len(text) > 4 else f"{text:>4}"
