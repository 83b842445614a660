"""What single examples show of several runs: a section of the page of a study."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.report import Chart, Figure, PagePart, Paragraph, Section, Table, TableView


@dataclass(frozen=True)
class ExampleSection:
    """Charts, a table and a note under a title."""

    title: str
    charts: Sequence[Chart] = ()
    table: Table | None = None
    note: str = ""

    def build(self) -> Section:
        """The section of the page."""
        parts: list[PagePart] = list(map(Figure, self.charts))
        if self.table is not None:
            parts.append(TableView(self.table))
        return Section(self.title, [*parts, *([Paragraph(self.note)] if self.note else [])])
