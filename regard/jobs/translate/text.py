"""Translate what people have: streams of lines, lines of any length, and whole files that go back to their owners."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.decode import Search
from regard.errors import DataError
from regard.formats import Document, broken
from regard.jobs.translate.stream import as_they_come
from regard.jobs.translate.worker_pool import Candidates
from regard.tasks.translate import Translation

CHUNK = 2048
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True)
class Longest:
    """What becomes of a line of more pieces than the model was trained on: cut at sentence ends, or refused."""

    pieces: int
    refuse: bool = False

    def parts(self, translator: Candidates, text: str, where: str) -> list[str]:
        """The line, or the sentences it is cut into, as many together as fit."""
        if self._fits(translator, text):
            return [text]
        if self.refuse:
            raise DataError(f"{where}: longer than {self.pieces} pieces; split it, or let it be cut with --long split")
        parts: list[str] = []
        for sentence in SENTENCE_END.split(text):
            if parts and self._fits(translator, joined := f"{parts[-1]} {sentence}"):
                parts[-1] = joined
            else:
                parts += self._pieces_of(translator, sentence)
        return parts

    def _pieces_of(self, translator: Candidates, sentence: str) -> list[str]:
        """A sentence that is itself too long is cut between words, in halves: better than to be lost."""
        if self._fits(translator, sentence) or len(sentence) < 2:
            return [sentence]
        words = sentence.split(" ")
        middle = len(words) // 2
        halves = (" ".join(words[:middle]), " ".join(words[middle:]))
        if len(words) < 2:  # a script without spaces, or a very long word
            halves = (sentence[: len(sentence) // 2], sentence[len(sentence) // 2 :])
        return [part for half in halves for part in self._pieces_of(translator, half)]

    def _fits(self, translator: Candidates, text: str) -> bool:
        if len(text.encode()) < self.pieces:  # a piece is a byte at least
            return True
        return len(translator.tokenizers.source.encode([text])[0]) < self.pieces


def translate_lines(
    translator: Candidates, lines: Iterable[str], search: Search, longest: Longest, where: Callable[[int], str]
) -> Iterator[list[Translation]]:
    """The candidates of each line, in order, a chunk at a time, so that memory does not grow with the file.

    `where` names a line by its number, from 1, to whoever reads an error.
    """
    first = 1
    for chunk in as_they_come(lines, CHUNK):
        parts = [longest.parts(translator, line, where(first + i)) for i, line in enumerate(chunk)]
        numbers = [first + i for i, line in enumerate(parts) for _ in line]
        found = iter(translator.candidates([part for line in parts for part in line], search, numbers))
        for line in parts:
            yield _join([next(found) for _ in line])
        first += len(chunk)


@dataclass
class Filled:
    """What became of a document: how many segments were translated, and which were left empty and why."""

    count: int = 0
    left: list[tuple[str, str]] = field(default_factory=list)


def translate_document(
    translator: Candidates, document: Document, out: Path, search: Search, longest: Longest
) -> Filled:
    """Translate a PO, XLIFF or text file; a translation that would break its entry is left out and counted."""
    lines = [(line, segment.note) for segment in document.segments for line in segment.source.split("\n")]
    found = translate_lines(translator, (line for line, _ in lines), search, longest, lambda n: lines[n - 1][1])
    filled, translations = Filled(), []
    for number, segment in enumerate(document.segments):
        text = "\n".join(next(found)[0].text for _ in segment.source.split("\n"))
        reason = broken(segment.source, text, segment.flags) or document.objection(number, text)
        translations.append(None if reason else text)
        filled.count += not reason
        if reason:
            filled.left.append((segment.note, reason))
    document.fill(translations)
    document.write(out)
    return filled


def _join(parts: Sequence[list[Translation]]) -> list[Translation]:
    """Candidates of the parts of a line as candidates of the line; scores are means."""
    if len(parts) == 1:
        return parts[0]
    ranks = min(len(part) for part in parts)
    return [
        Translation(" ".join(part[rank].text for part in parts), sum(part[rank].score for part in parts) / len(parts))
        for rank in range(ranks)
    ]
