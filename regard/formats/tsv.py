"""Tab-separated values: source, target, and whatever else a row holds."""

from collections.abc import Iterator
from pathlib import Path

from regard.errors import FormatError
from regard.formats import text
from regard.formats.pair import Pair


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The first two columns of every row; a row names no languages, so none are compared."""
    number = 0
    for number, line in enumerate(text.read_lines(path), start=1):
        if not line.strip(" "):  # an editor's last line
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise FormatError(f"{path}:{number}: no tab; expected source<TAB>target, got {line[:60]!r}")
        yield Pair(columns[0], columns[1], f"{path}:{number}")
    if not number:
        raise FormatError(f"{path} is empty; expected rows of source<TAB>target")
