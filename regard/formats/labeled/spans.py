"""Sentences of tagged words as JSON lines: lists of words and tags, or texts with labeled spans of characters.

{"tokens": ["Alex", "sings"], "tags": ["B-PER", "O"]}
{"text": "Alex sings.", "spans": [{"start": 0, "end": 4, "label": "PER"}]}     the end is exclusive
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats.labeled.examples import TaggedSentence
from regard.formats.labeled.table import read_objects

WORD_KEYS, TAG_KEYS = ("tokens", "words"), ("tags", "ner_tags", "pos_tags", "labels")
SPAN_KEYS = ("spans", "entities")
WORD = re.compile(r"\w+|[^\w\s]")
OUTSIDE = "O"


@dataclass(frozen=True)
class Span:
    """Characters of a text that have a label."""

    start: int
    end: int
    label: str


def read_objects_with_tags(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[TaggedSentence]:
    """The sentences of a JSON Lines file."""
    for row, where in read_objects(path, max_line_bytes):
        word_key, tag_key, span_key = (_find_key(row, keys) for keys in (WORD_KEYS, TAG_KEYS, SPAN_KEYS))
        if word_key and tag_key:
            yield _from_lists(row[word_key], row[tag_key], where)
        elif span_key and isinstance(row.get("text"), str):
            yield tag_spans(str(row["text"]), _parse_spans(row[span_key], where), where)
        else:
            keys = ", ".join(map(repr, row)) or "none"
            raise FormatError(f"{where}: expected the keys tokens and tags, or text and spans; it has: {keys[:200]}")


def tag_spans(text: str, spans: Sequence[Span], where: str) -> TaggedSentence:
    """The words of a text, tagged with BIO by its spans; a word is split where a span begins or ends inside it."""
    tags, words, previous_end = [], [], 0
    word_bounds = _split_at({position for span in spans for position in (span.start, span.end)}, text)
    ordered = sorted(spans, key=lambda span: span.start)
    for span in ordered:
        if not (0 <= span.start < span.end <= len(text)):
            raise FormatError(
                f"{where}: the span {span.start}-{span.end} is not inside the text of {len(text)} characters; expected "
                f"positions from 0 on, with an exclusive end"
            )
        if span.start < previous_end:
            raise FormatError(f"{where}: the span {span.start}-{span.end} overlaps with an earlier one")
        previous_end = span.end
    for start, end in word_bounds:
        span_of_word = next((span for span in ordered if span.start <= start and end <= span.end), None)
        words.append(text[start:end])
        if span_of_word is None:
            tags.append(OUTSIDE)
        else:
            is_first = not text[span_of_word.start : start].strip()
            tags.append(f"{'B' if is_first else 'I'}-{span_of_word.label}")
    return TaggedSentence(tuple(words), tuple(tags), where)


def _split_at(positions: set[int], text: str) -> list[tuple[int, int]]:
    """The words of a text as spans, split at these positions."""
    word_bounds = []
    for match in WORD.finditer(text):
        cuts = [match.start(), *sorted(p for p in positions if match.start() < p < match.end()), match.end()]
        word_bounds += list(itertools.pairwise(cuts))
    return word_bounds


def _from_lists(words: object, tags: object, where: str) -> TaggedSentence:
    if not _is_texts(words) or not _is_texts(tags):
        raise FormatError(f"{where}: words and tags must be lists of texts (tags as names, not as numbers)")
    assert isinstance(words, list) and isinstance(tags, list)
    if len(words) != len(tags):
        raise FormatError(f"{where}: has {len(words)} words and {len(tags)} tags; expected a tag for each word")
    return TaggedSentence(tuple(words), tuple(tags), where)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _parse_spans(value: object, where: str) -> list[Span]:
    if not isinstance(value, list):
        raise FormatError(f"{where}: expected a list of spans, such as {{'start': 0, 'end': 4, 'label': 'PER'}}")
    return [_parse_span(item, where) for item in value]


def _parse_span(item: object, where: str) -> Span:
    if isinstance(item, dict):
        values = [item.get("start"), item.get("end"), item.get("label")]
    else:
        values = list(item) if isinstance(item, list) else []
    if len(values) == 3:
        start, end, label = values
        if isinstance(start, int) and isinstance(end, int) and isinstance(label, str):
            return Span(start, end, label)
    raise FormatError(f"{where}: {str(item)[:60]} is not a span; expected start, end (numbers) and label (a text)")


def _find_key(row: Mapping[str, object], keys: Sequence[str]) -> str:
    return next((key for key in keys if key in row), "")
