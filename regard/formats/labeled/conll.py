"""Sentences of tagged words in CoNLL's columns: a word first, its tag last; a blank line ends a sentence."""

from collections.abc import Iterator
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import text
from regard.formats.labeled.examples import TaggedSentence

DOCUMENT_START = "-DOCSTART-"


def read_columns(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[TaggedSentence]:
    """The sentences of a file in columns: the first is the word, the last the tag."""
    words: list[str] = []
    tags: list[str] = []
    begin, width = 1, 0
    for number, line in enumerate(text.read_lines(path, max_line_bytes), start=1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or cells[0] == DOCUMENT_START or (line.startswith("# ") and len(cells) != width):
            if words:
                yield TaggedSentence(tuple(words), tuple(tags), f"{path}:{begin}")
                words, tags = [], []
            continue
        if len(cells) < 2 or not cells[-1].strip():
            raise FormatError(
                f"{path}:{number}: expected a word and a tag, separated by a tab or a space, got {line[:60]!r}"
            )
        if not words:
            begin, width = number, len(cells)
        words.append(cells[0])
        tags.append(cells[-1].strip())
    if words:
        yield TaggedSentence(tuple(words), tuple(tags), f"{path}:{begin}")
