"""Lines and rows of two texts -> how similar they are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from regard.errors import FormatError
from regard.formats.related import RelatedTexts
from regard.jobs.translate.stream import read_chunks
from regard.tasks.embed.embedder import Embedder

CHUNK = 1024


class ComparedTexts(NamedTuple):
    """Two texts, and the cosine of their vectors."""

    text: str
    text_pair: str
    similarity: float


def compare_lines(
    embedder: Embedder, lines: Iterable[str], locate: Callable[[int], str]
) -> Iterator[ComparedTexts | None]:
    """Compare the two texts of each line, which a tab separates; None for a blank line. Memory does not grow."""
    begin = 1
    for chunk in read_chunks(lines, CHUNK):
        pairs = {n: _split_line(line, locate(begin + n)) for n, line in enumerate(chunk) if line.strip()}
        compared = dict(zip(pairs, _compare(embedder, list(pairs.values())), strict=True))
        yield from (compared.get(number) for number in range(len(chunk)))
        begin += len(chunk)


def compare_rows(embedder: Embedder, rows: Iterator[RelatedTexts]) -> Iterator[ComparedTexts]:
    """Compare the two texts of each row of a table."""
    while chunk := list(islice(rows, CHUNK)):
        pairs = []
        for row in chunk:
            if row.positive is None:
                raise FormatError(f"{row.location}: has one text; expected two, in two columns")
            pairs.append((row.text, row.positive))
        yield from _compare(embedder, pairs)


def _compare(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> Iterator[ComparedTexts]:
    rows = zip(pairs, embedder.similarities(pairs), strict=True)
    return (ComparedTexts(*pair, similarity) for pair, similarity in rows)


def _split_line(line: str, location: str) -> tuple[str, str]:
    text, _, other = (part.strip() for part in line.partition("\t"))
    if not text or not other or "\t" in other:
        raise FormatError(f"{location}: expected two texts, separated by a tab; got {line[:60]!r}")
    return text, other
