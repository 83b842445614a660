"""Lines and rows of two texts -> how similar they are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from regard.errors import FormatError
from regard.formats.related import RelatedTexts
from regard.jobs.translate.stream import read_chunks
from regard.progress import report_note
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
    begin, num_truncated = 1, 0
    for chunk in read_chunks(lines, CHUNK):
        pairs = {n: _split_line(line, locate(begin + n)) for n, line in enumerate(chunk) if line.strip()}
        num_truncated += count_truncated(embedder, pairs.values())
        compared = dict(zip(pairs, _compare(embedder, list(pairs.values())), strict=True))
        yield from (compared.get(number) for number in range(len(chunk)))
        begin += len(chunk)
    note_truncated(embedder, num_truncated)


def compare_rows(embedder: Embedder, rows: Iterator[RelatedTexts]) -> Iterator[ComparedTexts]:
    """Compare the two texts of each row of a table."""
    num_truncated = 0
    while chunk := list(islice(rows, CHUNK)):
        pairs = []
        for row in chunk:
            if row.positive is None:
                raise FormatError(f"{row.location}: has one text; expected two, in two columns")
            pairs.append((row.text, row.positive))
        num_truncated += count_truncated(embedder, pairs)
        yield from _compare(embedder, pairs)
    note_truncated(embedder, num_truncated)


def count_truncated(embedder: Embedder, pairs: Iterable[tuple[str, str]]) -> int:
    """How many different texts of some pairs are not read to their end."""
    return embedder.count_truncated({text for pair in pairs for text in pair})


def note_truncated(embedder: Embedder, num_truncated: int) -> None:
    """Report texts that were not read to their end."""
    if num_truncated:
        report_note(
            f"{num_truncated:,} {'text is' if num_truncated == 1 else 'texts are'} longer than the "
            f"{embedder.max_length:,} tokens that the model reads: the rest is not compared"
        )


def _compare(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> Iterator[ComparedTexts]:
    rows = zip(pairs, embedder.similarities(pairs), strict=True)
    return (ComparedTexts(*pair, similarity) for pair, similarity in rows)


def _split_line(line: str, location: str) -> tuple[str, str]:
    text, _, other = (part.strip() for part in line.partition("\t"))
    if not text or not other or "\t" in other:
        raise FormatError(f"{location}: expected two texts, separated by a tab; got {line[:60]!r}")
    return text, other
