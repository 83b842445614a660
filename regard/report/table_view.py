"""A table as a part of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regard.report.table import Table, Value
from regard.report.text import escape_html, format_column

NUMBER = re.compile(r"[<+−-]? ?[\d,]+\.\d+( ± [\d.]+)?%?|\d+%|not tested")
"""A number that is written out, where each row has its own decimal places, or what stands in its place."""
MAX_NAME_LENGTH = 32  # characters of a name without blanks, such as a label
MAX_NOWRAP_LENGTH = 17  # characters of a text that is never wrapped: a number and its interval, a name


@dataclass(frozen=True)
class TableView:
    """A table: numbers are right-aligned at their decimal points, text is left-aligned."""

    table: Table
    caption: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)
    """Headings of columns, if they differ from the names."""
    interactive: bool = False
    """Whether readers sort and filter it: a table of many rows."""
    links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of a column, where each of its cells leads, relative to the page; nowhere where it is empty."""

    def html(self) -> str:
        names = list(self.table.columns)
        numeric = {name: _is_numeric(self.table[name]) for name in names}
        head = "".join(
            f'<th scope="col"{_cell_attributes(numeric[name])}>{escape_html(self.headings.get(name, name))}</th>'
            for name in names
        )
        texts = [format_column(self.table[name]) for name in names]
        short = {name: all(_stays_whole(text) for text in column) for name, column in zip(names, texts, strict=True)}
        cell_attributes = {name: _cell_attributes(numeric[name], short[name]) for name in names}
        body = "\n".join(
            "<tr>"
            + "".join(
                f"<td{cell_attributes[name]}>{self._cell(name, number, text)}</td>"
                for name, text in zip(names, row, strict=True)
            )
            + "</tr>"
            for number, row in enumerate(zip(*texts, strict=True))
        )
        mode = " data-interactive" if self.interactive and len(self.table) > 1 else ""
        caption = f"<caption>{escape_html(self.caption)}</caption>" if self.caption else ""
        return (
            f'<div class="scroll" tabindex="0" role="group" aria-label="{escape_html(self.caption or "table")}">'
            f"<table{mode}>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
        )

    def _cell(self, name: str, row: int, text: str) -> str:
        address = self.links[name][row] if name in self.links else ""
        return f'<a href="{escape_html(address)}">{escape_html(text)}</a>' if address else escape_html(text)


def _stays_whole(text: str) -> bool:
    """Whether a text has a line of its own: a short one, and a name that could only be broken in the middle."""
    return len(text) <= (MAX_NOWRAP_LENGTH if " " in text else MAX_NAME_LENGTH)


def _is_numeric(values: Sequence[Value]) -> bool:
    return all(NUMBER.fullmatch(value) is not None for value in values if isinstance(value, str))


def _cell_attributes(numeric: bool, short: bool = False) -> str:
    return ' class="number"' if numeric else ' dir="auto" class="short"' if short else ' dir="auto"'
