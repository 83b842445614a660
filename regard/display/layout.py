"""Text and tables that fit a number of columns: lines break between words, and a table that is too wide folds.

Widths are those of a terminal: two columns for a wide character, none for a combining mark.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regard.report.text import display_width

GAP = "  "
BOUND_SPACE = "\ue000"  # of a private area; a no-break space may occur in the text itself
MIN_CELL_WIDTH = 12
"""Columns below which a cell is not wrapped: its column is moved below the row instead."""
BREAK_AFTER = re.compile(r"(?<=[/|,;=\\])|(?<=[\u2e80-\uffef])(?=[\u2e80-\uffef])")
"""Where a word may be folded that is wider than the line: paths, signatures, and scripts without spaces."""


def bind(text: str) -> str:
    """The text, to be kept on one line by `wrap`."""
    return text.replace(" ", BOUND_SPACE)


def wrap(text: str, width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """The text in lines of at most `width` columns, broken between words; `hanging` indents all lines but the first."""
    hanging = indent if hanging is None else hanging
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line, is_empty = (indent if not lines else hanging), True
        for word in paragraph.split():
            separator = "" if is_empty else " "
            if not is_empty and display_width(line + separator + word) > width:
                lines.append(line)
                line, is_empty, separator = hanging, True, ""
            *complete, rest = _fold(word, width - display_width(line), width - display_width(hanging)) or [word]
            if complete:
                lines += [line + complete[0], *(hanging + part for part in complete[1:])]
                line = hanging
            line, is_empty = line + separator + rest, False
        lines.append(line.rstrip())
    return [line.replace(BOUND_SPACE, " ") for line in lines]


def wrap_all(texts: Iterable[str], width: int, indent: str = "", hanging: str | None = None) -> list[str]:
    """Several paragraphs, each beginning on a line of its own."""
    return [line for text in texts for line in wrap(text, width, indent, hanging)]


def wrap_command(command: str, width: int, indent: str = "  ") -> list[str]:
    """A command that can be copied: a line that continues on the next ends with a backslash."""
    lines = wrap(command, width, indent, indent + "  ")
    if len(lines) == 1 or any(display_width(indent + word) > width - 4 for word in command.split()):
        return lines  # a word that had to be folded cannot be copied anyway
    lines = wrap(command, width - 2, indent, indent + "  ")
    return [line + " \\" for line in lines[:-1]] + lines[-1:]


def wrap_fields(fields: Sequence[tuple[str, str]], width: int, indent: str = "") -> list[str]:
    """Names and texts in two columns; the texts are wrapped."""
    name_width = max((display_width(name) for name, _ in fields), default=0) + len(GAP)
    hanging = indent + " " * name_width
    return [line for name, text in fields for line in wrap(text, width, indent + pad(name, name_width), hanging)]


def join_fields(fields: Sequence[str], width: int) -> str:
    """The fields in one line; those that do not fit are dropped, the last one of the list first.

    An empty field is left out.
    """
    fields = [field for field in fields if field]
    while len(fields) > 1 and display_width(GAP.join(fields)) > width:
        fields = fields[:-1]
    return GAP.join(fields)


def _fold(word: str, first_width: int, width: int) -> list[str]:
    """The parts of a word, of which the first has room for `first_width` columns and each other for `width`."""
    if display_width(word) <= first_width:
        return [word]
    parts, part, room = list[str](), "", first_width
    for unit in _break(word, width):
        if part and display_width(part + unit) > room:
            parts.append(part)
            part, room = "", width
        part += unit
    return [*parts, part]


def _break(word: str, width: int) -> Iterator[str]:
    """The units of a word that stay together; one that is itself too wide is cut, since there is no other way."""
    for unit in BREAK_AFTER.split(word):
        begin = 0
        while begin < len(unit):
            end = _cut(unit, begin, max(1, width))
            yield unit[begin:end]
            begin = end


def _cut(unit: str, begin: int, width: int) -> int:
    """The end of what has room for `width` columns, at least one character; looks no further than about there."""
    size = width
    while begin + size < len(unit) and display_width(unit[begin : begin + size]) <= width:
        size *= 2
    ends = range(begin + 1, min(begin + size, len(unit)) + 1)
    return ends[max(0, bisect_right(ends, width, key=lambda end: display_width(unit[begin:end])) - 1)]


def pad(text: str, width: int, right: bool = False) -> str:
    """The text with spaces up to a width; on its left where it is aligned to the right."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


@dataclass(frozen=True)
class Column:
    """A column of a table, and what may be done with it where the table is too wide."""

    heading: str
    right: bool = False
    """Whether cells are aligned to the right, as numbers are."""
    wraps: bool = False
    """Whether a long cell may take several lines."""
    below: bool = False
    """Whether the column may be moved below its row."""
    drops: int = 0
    """Above 0, the column is left out where the table is too wide; the one with the largest number first."""


def format_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, indent: str = "", headings: bool = True
) -> list[str]:
    """A table of at most `width` columns; `rows` have a cell for each column.

    Long cells are wrapped first; then columns are left out or move below their row; then each row becomes a list.
    """
    inside, below = list(range(len(columns))), list[int]()
    room = width - display_width(indent)
    while (widths := _fit_columns([columns[i] for i in inside], _select(rows, inside), room, headings)) is None:
        optional = [i for i in inside if columns[i].drops]
        movable = [i for i in inside if columns[i].below]
        if not optional and not movable:
            return _format_records(columns, rows, width, indent)
        number = max(optional, key=lambda i: columns[i].drops) if optional else movable[-1]
        inside.remove(number)
        below = [*below, number] if columns[number].below else below
    shown = [columns[i] for i in inside]
    lines = _format_row(shown, [column.heading for column in shown], widths, indent) if headings else []
    for row in rows:
        lines += _format_row(shown, [row[i] for i in inside], widths, indent)
        cells = [f"{columns[i].heading}: {row[i]}" for i in sorted(below) if row[i]]
        lines += wrap("; ".join(cells), width, indent + "    ", indent + "      ") if cells else []
    missing = [column.heading for i, column in enumerate(columns) if i not in (*inside, *below)]
    note = f"(a wider terminal also shows {', '.join(missing)})"
    return [*lines, *(wrap(note, width, indent) if missing else [])]


def _select(rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> list[list[str]]:
    return [[row[i] for i in numbers] for row in rows]


def _fit_columns(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, headings: bool
) -> list[int] | None:
    """The width of each column; None if the table does not fit even with its long cells wrapped."""
    cells = [[*([column.heading] if headings else []), *(row[i] for row in rows)] for i, column in enumerate(columns)]
    widths = [max(map(display_width, column), default=0) for column in cells]
    surplus = sum(widths) + len(GAP) * (len(columns) - 1) - width
    while surplus > 0:
        candidates = [i for i, column in enumerate(columns) if column.wraps and widths[i] > _min_width(cells[i])]
        if not candidates:
            return None
        widest = max(candidates, key=lambda i: widths[i])
        widths[widest] -= 1
        surplus -= 1
    return widths


def _min_width(cells: Sequence[str]) -> int:
    """The width to which a column may be narrowed: that of its longest word that stays whole."""
    units = (unit for cell in cells for word in cell.split() for unit in BREAK_AFTER.split(word))
    return max([MIN_CELL_WIDTH, *map(display_width, units)])


def _format_row(columns: Sequence[Column], cells: Sequence[str], widths: Sequence[int], indent: str) -> list[str]:
    blocks = [wrap(cell, width) if cell else [""] for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, blocks), default=0)
    lines = []
    for n in range(height):
        line = [block[n] if n < len(block) else "" for block in blocks]
        padded = [pad(text, w, column.right) for text, w, column in zip(line, widths, columns, strict=True)]
        lines.append((indent + GAP.join(padded)).rstrip())
    return lines


def _format_records(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, indent: str) -> list[str]:
    """Each row as a list of names and values, for a table that fits no other way."""
    lines: list[str] = []
    for row in rows:
        lines += wrap(row[0], width, indent)
        fields = [(column.heading, cell) for column, cell in zip(columns[1:], row[1:], strict=True) if cell]
        lines += wrap_fields(fields, width, indent + GAP)
    return lines
