"""Translation of streams of lines of any length, and of whole documents."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regard.data.sentences import Sentence, fit_blank
from regard.data.tokenizers.remapped_sentencepiece import LANGUAGE_TAG, RemappedSentencePiece
from regard.data.tokenizers.tagged_tokenizer import TaggedTokenizer
from regard.decode import Search
from regard.errors import DataError
from regard.formats import Document, check_translation, tsv
from regard.formats.document import AnnotatedDocument
from regard.jobs.translate.quality import QualityCheck
from regard.jobs.translate.sentence_splitting import SentenceSplitting
from regard.jobs.translate.stream import read_chunks
from regard.jobs.translate.worker_pool import TranslationBackend
from regard.progress import track
from regard.run import write_text
from regard.tasks.translate.translator import Translation, TranslationIssue

CHUNK_LINES = 2048
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")
BLANKS = "".join(map(chr, (0x9, 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
"""What may surround a line and its translation: no line ends."""


@dataclass(frozen=True)
class LengthLimit:
    """What is done with a line of more tokens than the model was trained on: it is split, or refused."""

    max_tokens: int
    refuse: bool = False

    def split(self, translator: TranslationBackend, text: str, location: str) -> list[Sentence]:
        """The line, or groups of its sentences that fit, with the blanks between them."""
        if self._fits(translator, text):
            return [Sentence(text)]
        if self.refuse:
            raise DataError(f"{location}: longer than {self.max_tokens} tokens; split it, or use --long split")
        parts: list[Sentence] = []
        for sentence in _split_at_ends(text):
            if parts and self._fits(translator, joined := parts[-1].text + parts[-1].blank + sentence.text):
                parts[-1] = Sentence(joined, sentence.blank)
            else:
                parts += self._halve(translator, sentence)
        return parts

    def _halve(self, translator: TranslationBackend, sentence: Sentence) -> list[Sentence]:
        """The halves of a sentence that is itself too long, split between words, repeatedly until they fit."""
        text = sentence.text
        if self._fits(translator, text) or len(text) < 2:
            return [sentence]
        words = text.split(" ")
        middle, blank = len(words) // 2, " "
        left, right = " ".join(words[:middle]), " ".join(words[middle:])
        if len(words) < 2:  # a script without spaces, or a very long word
            left, right, blank = text[: len(text) // 2], text[len(text) // 2 :], ""
        halves = (Sentence(left, blank), Sentence(right, sentence.blank))
        return [part for half in halves for part in self._halve(translator, half)]

    def _fits(self, translator: TranslationBackend, text: str) -> bool:
        if len(text.encode()) < self.max_tokens:  # a token has at least one byte
            return True
        return len(translator.tokenizers.source.encode([text])[0]) < self.max_tokens


@dataclass(frozen=True)
class LinePipeline:
    """What is done with a line around its translation: it is split, joined with its own blanks, and checked."""

    length_limit: LengthLimit
    splitting: SentenceSplitting = field(default_factory=SentenceSplitting)
    quality: QualityCheck | None = None

    def without_quality(self) -> "LinePipeline":
        """The same without checks, where references show more."""
        return replace(self, quality=None)

    def split(self, translator: TranslationBackend, line: str, location: str) -> "LineParts":
        """The sentences of a line, split further where they are too long."""
        if self.length_limit.refuse:
            self.length_limit.split(translator, line, location)
        takes_tags = isinstance(translator.tokenizers.source, RemappedSentencePiece | TaggedTokenizer)
        tag = LANGUAGE_TAG.match(line) if takes_tags else None
        prefix = line[: tag.end()] + " " * line[tag.end() :].startswith(" ") if tag else ""
        before, text, after = _split_edges(line[len(prefix) :])
        texts: list[str] = []
        blanks: list[str] = []
        for sentence in self.splitting.split(text):
            parts = self.length_limit.split(translator, prefix + sentence.text, location)
            texts += [part.text.removeprefix(prefix) for part in parts]
            blanks += [*(part.blank for part in parts[:-1]), sentence.blank]
        return LineParts(prefix, texts, [before, *blanks[:-1], after])

    def join(self, line: "LineParts", candidates: Iterator[list[Translation]]) -> list[Translation]:
        """The candidates of a line from those of its parts, with their issues."""
        before, *between, after = line.blanks
        joined = join_candidates([next(candidates) for _ in line.texts], between)
        if self.quality is not None:
            joined = [self.quality.check(" ".join(line.texts), one) for one in joined]
        return [replace(one, text=f"{before}{one.text}{after}") for one in joined] if before or after else joined


@dataclass(frozen=True)
class LineParts:
    """The texts that are translated for a line, and the blanks before, between and after them."""

    prefix: str
    """The tag of a target language, which each text is given."""
    texts: list[str]
    blanks: list[str]

    def inputs(self) -> list[str]:
        """What the model translates."""
        return [self.prefix + text for text in self.texts]


def _split_edges(line: str) -> tuple[str, str, str]:
    """A line without the blanks around it, between those before and after it."""
    start, text = len(line) - len(line.lstrip(BLANKS)), line.strip(BLANKS)
    return line[:start], text, line[start + len(text) :]


def _split_at_ends(text: str) -> Iterator[Sentence]:
    start = 0
    for match in SENTENCE_END.finditer(text):
        if match.end() < len(text):
            yield Sentence(text[start : match.start()], match[0])
            start = match.end()
    yield Sentence(text[start:])


def translate_lines(
    translator: TranslationBackend,
    lines: Iterable[str],
    search: Search,
    pipeline: LinePipeline,
    describe_line: Callable[[int], str],
    read: Callable[[Iterable[str], int], Iterator[list[str]]] = read_chunks,
) -> Iterator[list[Translation]]:
    """The candidates of each line, in order, a chunk at a time, so that memory does not grow with the file.

    `describe_line` names a line by its number, from 1, in error messages. `read` cuts the lines into chunks.
    """
    first = 1
    for chunk in read(lines, CHUNK_LINES):
        yield from translate_chunk(translator, chunk, first, search, pipeline, describe_line)
        first += len(chunk)


def translate_chunk(
    translator: TranslationBackend,
    chunk: Sequence[str],
    first: int,
    search: Search,
    pipeline: LinePipeline,
    describe_line: Callable[[int], str],
) -> Iterator[list[Translation]]:
    """The candidates of lines that are translated together; `first` is the number of the first one."""
    parts = [pipeline.split(translator, line, describe_line(first + i)) for i, line in enumerate(chunk)]
    numbers = [first + i for i, line in enumerate(parts) for _ in line.texts]
    candidates = iter(translator.candidates([text for line in parts for text in line.inputs()], search, numbers))
    for line in parts:
        yield pipeline.join(line, candidates)


def translate_texts(
    translator: TranslationBackend, texts: Sequence[str], search: Search, pipeline: LinePipeline
) -> list[list[Translation]]:
    """The candidates of each text. The lines of a text are translated one by one, and joined by its line ends."""
    parts = [
        [pipeline.split(translator, line, f"text {i}") for line in text.split("\n")]
        for i, text in enumerate(texts, start=1)
    ]
    inputs = [part for text in parts for line in text for part in line.inputs()]
    candidates = iter(translator.candidates(inputs, search))
    return [
        join_candidates([pipeline.join(line, candidates) for line in text], ["\n"] * (len(text) - 1)) for text in parts
    ]


@dataclass(frozen=True)
class DocumentResult:
    """How many segments of a document were translated, which were left empty and why, and which may be wrong."""

    num_translated: int
    skipped_segments: tuple[tuple[str, str], ...] = ()
    """The location of each segment that was left empty, and the reason."""
    issues: tuple[tuple[str, TranslationIssue], ...] = ()
    """The location of each translation that has probably lost something, and what; one may have several."""

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
    pipeline: LinePipeline,
    check: Callable[[str, str, Sequence[str]], str] = check_translation,
) -> DocumentResult:
    """Translate a PO, XLIFF or text file; translations that would break their entry are skipped and counted.

    Those that have probably lost something are written, with a note where the format has a place for one.
    """
    lines = [(line, segment.location) for segment in document.segments for line in segment.source.split("\n")]
    candidates = translate_lines(translator, (line for line, _ in lines), search, pipeline, lambda n: lines[n - 1][1])
    translations: list[str | None] = []
    skipped_segments: list[tuple[str, str]] = []
    segment_issues: list[tuple[TranslationIssue, ...]] = []
    for number, segment in enumerate(track(document.segments, "translating segments")):
        translated_lines = [next(candidates)[0] for _ in segment.source.split("\n")]
        text = "\n".join(line.text for line in translated_lines)
        reason = check(segment.source, text, segment.flags) or document.check_segment(number, text)
        translations.append(None if reason else text)
        segment_issues.append(() if reason else tuple(issue for line in translated_lines for issue in line.issues))
        if reason:
            skipped_segments.append((segment.location, reason))
    document.fill(translations)
    if isinstance(document, AnnotatedDocument):
        document.annotate(["; ".join(issue.message for issue in issues) for issues in segment_issues])
    document.write(out)
    located = zip((segment.location for segment in document.segments), segment_issues, strict=True)
    issues = tuple((location, issue) for location, its_issues in located for issue in its_issues)
    return DocumentResult(len(translations) - len(skipped_segments), tuple(skipped_segments), issues)


def join_candidates(parts: Sequence[list[Translation]], blanks: Sequence[str]) -> list[Translation]:
    """Candidates of a line from those of its parts, or of a text from those of its lines; scores are averaged.

    They are the best combinations: as many as the longest list of a part has, all with different texts.
    """
    joined, count = parts[0], max(map(len, parts))
    for blank, part in zip(blanks, parts[1:], strict=True):
        joined = _best_combinations(joined, blank, part, count)
    return joined if len(parts) == 1 else [replace(one, score=one.score / len(parts)) for one in joined]


def _best_combinations(
    left: Sequence[Translation], blank: str, right: Sequence[Translation], count: int
) -> list[Translation]:
    """The best combinations of the candidates of two parts, those without a truncated part first; scores are added."""
    combinations = list(itertools.product(left, right))
    if count > 1:
        combinations.sort(key=lambda pair: (pair[0].truncated + pair[1].truncated, -pair[0].score - pair[1].score))
    best: dict[str, Translation] = {}
    for one, other in combinations:
        text = one.text + fit_blank(blank, one.text, other.text) + other.text
        truncated = one.truncated or other.truncated
        best.setdefault(text, Translation(text, one.score + other.score, truncated, one.issues + other.issues))
        if len(best) == count:
            break
    return list(best.values())
