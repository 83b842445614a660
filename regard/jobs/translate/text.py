"""Translation of streams of lines of any length, and of whole documents."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.decode import Search
from regard.errors import DataError
from regard.formats import Document, check_translation, tsv
from regard.jobs.translate.stream import read_chunks
from regard.jobs.translate.worker_pool import TranslationBackend
from regard.progress import track
from regard.run import write_text
from regard.tasks.translate import Translation

CHUNK_LINES = 2048
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True)
class LengthLimit:
    """What is done with a line of more tokens than the model was trained on: it is split, or refused."""

    max_tokens: int
    refuse: bool = False

    def split(self, translator: TranslationBackend, text: str, location: str) -> list[str]:
        """The line, or groups of its sentences that fit."""
        if self._fits(translator, text):
            return [text]
        if self.refuse:
            raise DataError(f"{location}: longer than {self.max_tokens} tokens; split it, or use --long split")
        parts: list[str] = []
        for sentence in SENTENCE_END.split(text):
            if parts and self._fits(translator, joined := f"{parts[-1]} {sentence}"):
                parts[-1] = joined
            else:
                parts += self._halve(translator, sentence)
        return parts

    def _halve(self, translator: TranslationBackend, sentence: str) -> list[str]:
        """The halves of a sentence that is itself too long, split between words, repeatedly until they fit."""
        if self._fits(translator, sentence) or len(sentence) < 2:
            return [sentence]
        words = sentence.split(" ")
        middle = len(words) // 2
        halves = (" ".join(words[:middle]), " ".join(words[middle:]))
        if len(words) < 2:  # a script without spaces, or a very long word
            halves = (sentence[: len(sentence) // 2], sentence[len(sentence) // 2 :])
        return [part for half in halves for part in self._halve(translator, half)]

    def _fits(self, translator: TranslationBackend, text: str) -> bool:
        if len(text.encode()) < self.max_tokens:  # a token has at least one byte
            return True
        return len(translator.tokenizers.source.encode([text])[0]) < self.max_tokens


def translate_lines(
    translator: TranslationBackend,
    lines: Iterable[str],
    search: Search,
    length_limit: LengthLimit,
    describe_line: Callable[[int], str],
) -> Iterator[list[Translation]]:
    """The candidates of each line, in order, a chunk at a time, so that memory does not grow with the file.

    `describe_line` names a line by its number, from 1, in error messages.
    """
    first = 1
    for chunk in read_chunks(lines, CHUNK_LINES):
        parts = [length_limit.split(translator, line, describe_line(first + i)) for i, line in enumerate(chunk)]
        numbers = [first + i for i, line in enumerate(parts) for _ in line]
        candidates = iter(translator.candidates([part for line in parts for part in line], search, numbers))
        for line in parts:
            yield _join_candidates([next(candidates) for _ in line])
        first += len(chunk)


def translate_texts(
    translator: TranslationBackend, texts: Sequence[str], search: Search, length_limit: LengthLimit
) -> list[list[Translation]]:
    """The candidates of each text. The lines of a text are translated one by one, and joined by its line ends."""
    lines = [text.split("\n") for text in texts]
    parts = [
        [length_limit.split(translator, line, f"text {i}") for line in text] for i, text in enumerate(lines, start=1)
    ]
    flat = [part for text in parts for line in text for part in line]
    candidates = iter(translator.candidates(flat, search))
    return [
        _join_candidates([_join_candidates([next(candidates) for _ in line]) for line in text], separator="\n")
        for text in parts
    ]


@dataclass(frozen=True)
class DocumentResult:
    """How many segments of a document were translated, and which were left empty and why."""

    num_translated: int
    skipped_segments: tuple[tuple[str, str], ...] = ()
    """The location of each segment that was left empty, and the reason."""

    def write_skipped(self, path: Path) -> None:
        """Write the location and the reason of every skipped segment, as TSV."""
        rows = [("location", "reason"), *self.skipped_segments]
        write_text(path, "".join(tsv.format_row(row) + "\n" for row in rows))


def accept_translation(source: str, translation: str, flags: Sequence[str]) -> str:
    """The check of plain text, whose lines have no placeholders that must be kept: every translation is accepted."""
    return ""


def translate_document(
    translator: TranslationBackend,
    document: Document,
    out: Path,
    search: Search,
    length_limit: LengthLimit,
    check: Callable[[str, str, Sequence[str]], str] = check_translation,
) -> DocumentResult:
    """Translate a PO, XLIFF or text file; translations that would break their entry are skipped and counted."""
    lines = [(line, segment.location) for segment in document.segments for line in segment.source.split("\n")]
    candidates = translate_lines(
        translator, (line for line, _ in lines), search, length_limit, lambda n: lines[n - 1][1]
    )
    translations: list[str | None] = []
    skipped_segments: list[tuple[str, str]] = []
    for number, segment in enumerate(track(document.segments, "translating segments")):
        text = "\n".join(next(candidates)[0].text for _ in segment.source.split("\n"))
        reason = check(segment.source, text, segment.flags) or document.check_segment(number, text)
        translations.append(None if reason else text)
        if reason:
            skipped_segments.append((segment.location, reason))
    document.fill(translations)
    document.write(out)
    return DocumentResult(len(translations) - len(skipped_segments), tuple(skipped_segments))


def _join_candidates(parts: Sequence[list[Translation]], separator: str = " ") -> list[Translation]:
    """Candidates of a line from those of its parts, or of a text from those of its lines; scores are averaged."""
    if len(parts) == 1:
        return parts[0]
    num_candidates = min((len(part) for part in parts if part[0].text.strip()), default=1)  # a blank part has only one
    ranked = ([part[min(rank, len(part) - 1)] for part in parts] for rank in range(num_candidates))
    return [
        Translation(separator.join(part.text for part in row), sum(part.score for part in row) / len(row))
        for row in ranked
    ]
