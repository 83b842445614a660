"""Tags of words that mark spans: which scheme a file uses, and where its tags break it.

BIO (IOB2): B- begins every span. IOB1: I- begins one, B- only where it follows another of the same type. BIOES, also
called BILOU: S- (U-) is a span of one word, E- (L-) ends a longer one. Other tags, such as parts of speech, are plain.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

OUTSIDE = "O"
PLAIN = "plain"
"""The scheme of tags that mark no spans, such as parts of speech."""
_TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)
_SEVERAL = re.compile(r"[,|](?=[BIESLU]-)")
END_PREFIXES = {"E": "E", "L": "E", "S": "S", "U": "S"}


class TaggedSpan(NamedTuple):
    """Some words of a sentence that belong together."""

    type: str
    start: int
    end: int
    """Exclusive."""


@dataclass(frozen=True)
class TagScheme:
    """How the tags of a file mark spans."""

    name: str
    """BIO, IOB1, BIOES or plain."""

    def find_break(self, tags: Sequence[str]) -> str:
        """What breaks the scheme in a sentence; empty if nothing does."""
        if self.name == PLAIN:
            return ""
        previous = OUTSIDE
        for number, tag in enumerate((*tags, OUTSIDE), start=1):
            if has_several(tag):
                return f"word {number} has several tags: {tag}"
            if self._is_broken(previous, tag):
                return f"{tag} after {previous} at word {number}" if number <= len(tags) else f"{previous} at the end"
            previous = tag
        return ""

    def allows(self, previous: str, tag: str) -> bool:
        """Whether a tag may follow another one; O stands before the first word."""
        return self.name == PLAIN or not self._is_broken(previous, tag)

    def _is_broken(self, previous: str, tag: str) -> bool:
        (before, before_type), (prefix, tag_type) = split_tag(previous), split_tag(tag)
        same_type = before_type == tag_type and before != OUTSIDE
        if self.name == "IOB1":
            return prefix == "B" and not same_type
        if self.name == "BIO":
            return prefix == "I" and not same_type
        is_open = before in ("B", "I")
        return (prefix in ("I", "E")) != is_open or (is_open and not same_type)


def split_tag(tag: str) -> tuple[str, str]:
    """A tag as prefix and type: B-PER is (B, PER); L and U of BILOU become E and S; what has no prefix is outside."""
    match = _TAG.fullmatch(tag)
    return (END_PREFIXES.get(match[1], match[1]), match[2]) if match else (OUTSIDE, "")


def find_spans(tags: Sequence[str]) -> list[TaggedSpan]:
    """The spans of a sentence as CoNLL's conlleval finds them: also those that begin with I- after O."""
    spans: list[TaggedSpan] = []
    start, previous = 0, (OUTSIDE, "")
    for position, tag in enumerate((*tags, OUTSIDE)):
        current = split_tag(tag)
        if _ends_span(previous, current):
            spans.append(TaggedSpan(previous[1], start, position))
        if _starts_span(previous, current):
            start = position
        previous = current
    return spans


def to_bio(tags: Sequence[str], scheme: TagScheme) -> list[str]:
    """The tags of a sentence in BIO, with the spans that conlleval finds in any scheme; plain tags as they are."""
    if scheme.name == PLAIN:
        return list(tags)
    bio = [OUTSIDE] * len(tags)
    for span in find_spans(tags):
        bio[span.start : span.end] = [f"B-{span.type}", *[f"I-{span.type}"] * (span.end - span.start - 1)]
    return bio


def find_valid_spans(tags: Sequence[str], scheme: str) -> list[TaggedSpan]:
    """The spans that follow BIO or BIOES to the letter; what begins or ends otherwise is none."""
    spans: list[TaggedSpan] = []
    for position, (prefix, tag_type) in enumerate(map(split_tag, tags)):
        if prefix == "S" and scheme == "BIOES":
            spans.append(TaggedSpan(tag_type, position, position + 1))
        if prefix != "B":
            continue
        end = position + 1
        while end < len(tags) and split_tag(tags[end]) == ("I", tag_type):
            end += 1
        if scheme == "BIO":
            spans.append(TaggedSpan(tag_type, position, end))
        elif end < len(tags) and split_tag(tags[end]) == ("E", tag_type):
            spans.append(TaggedSpan(tag_type, position, end + 1))
    return spans


def _ends_span(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    if previous[0] == OUTSIDE:
        return False
    return previous[0] in ("E", "S") or current[0] in ("B", "S", OUTSIDE) or previous[1] != current[1]


def _starts_span(previous: tuple[str, str], current: tuple[str, str]) -> bool:
    if current[0] == OUTSIDE:
        return False
    return current[0] in ("B", "S") or previous[0] in ("E", "S", OUTSIDE) or previous[1] != current[1]


def has_several(tag: str) -> bool:
    """Whether a cell holds more than one tag: B-corporation,B-person."""
    return bool(_SEVERAL.search(tag))


def types_of(tags: Iterable[str]) -> tuple[str, ...]:
    """The types of the spans of a sentence, each once; plain tags as they are."""
    return tuple(sorted({split_tag(tag)[1] or tag for tag in tags} - {OUTSIDE}))


def detect_scheme(sentences: Iterable[Sequence[str]]) -> TagScheme:
    """The scheme of the tags of some sentences: the one that most of their spans follow."""
    prefixes: Counter[str] = Counter()
    starts: Counter[str] = Counter()
    for tags in sentences:
        previous_type = ""
        for tag in tags:
            prefix, tag_type = split_tag(tag)
            prefixes[PLAIN if prefix == OUTSIDE != tag else prefix] += 1
            if prefix in ("B", "I") and previous_type != tag_type:
                starts[prefix] += 1
            previous_type = tag_type  # empty outside of spans
    marked = sum(prefixes[prefix] for prefix in "BIES")
    if prefixes[PLAIN] > marked:
        return TagScheme(PLAIN)
    if prefixes["S"] + prefixes["E"]:
        return TagScheme("BIOES")
    return TagScheme("IOB1" if starts["I"] > starts["B"] else "BIO")
