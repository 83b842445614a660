"""Tab-separated values: pairs in the first two columns, and rows of Regard's own tables.

Cells of Regard's own tables are escaped, so that a text with tabs or line breaks stays one cell. Files of pairs are
not: their backslashes are part of the text.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import text
from regard.formats.pair import Pair

ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
ESCAPE_TABLE = {ord(character): escape for character, escape in ESCAPES.items()}
ORIGINALS = {escape: character for character, escape in ESCAPES.items()}


def read(path: Path, source: str = "", target: str = "", max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Pair]:
    """The first two columns of every row. A row names no languages, so the codes are ignored."""
    number = 0
    for number, line in enumerate(text.read_lines(path, max_line_bytes), start=1):
        if not line.strip(" "):  # a last line without content
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise FormatError(f"{path}:{number}: no tab; expected source<TAB>target, got {line[:60]!r}")
        yield Pair(columns[0], columns[1], f"{path}:{number}")
    if not number:
        raise FormatError(f"{path} is empty; expected rows of source<TAB>target")


def format_row(cells: Iterable[str]) -> str:
    """A row of escaped cells, without its line end."""
    return "\t".join(cell.translate(ESCAPE_TABLE) for cell in cells)


def parse_row(line: str) -> list[str]:
    """The cells of a row that `format_row` wrote."""
    return [re.sub(r"\\[\\tnr]", lambda match: ORIGINALS[match[0]], cell) for cell in line.split("\t")]
