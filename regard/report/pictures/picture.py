"""What all pictures have in common."""

from typing import Protocol

from regard.report.chart import Chart


class Picture(Protocol):
    """Something to be seen, without a title: that is what was found, which is known later."""

    def chart(self, title: str) -> Chart:
        """The picture as a chart for pages and files."""
        ...

    def text(self, width: int) -> str:
        """The picture as lines of plain text, none wider than `width` where that is possible."""
        ...
