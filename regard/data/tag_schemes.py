"""Tags of words that mark spans: which scheme a file uses, and where its tags break it.

BIO (IOB2): B- begins every span. IOB1: I- begins one, B- only where it follows another of the same type. BIOES, also
called BILOU: S- (U-) is a span of one word, E- (L-) ends a longer one. Other tags, such as parts of speech, are plain.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OUTSIDE = "O"
PLAIN = "plain"
"""The scheme of tags that mark no spans, such as parts of speech."""
_TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)
_SEVERAL = re.compile(r"[,|](?=[BIESLU]-)")
END_PREFIXES = {"E": "E", "L": "E", "S": "S", "U": "S"}


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
        previous = (OUTSIDE, "")
        for tag in tags:
            prefix, tag_type = split_tag(tag)
            prefixes[PLAIN if prefix == OUTSIDE != tag else prefix] += 1
            if prefix in ("B", "I") and (previous[0] == OUTSIDE or previous[1] != tag_type):
                starts[prefix] += 1
            previous = (prefix, tag_type)
    marked = sum(prefixes[prefix] for prefix in "BIES")
    if prefixes[PLAIN] > marked:
        return TagScheme(PLAIN)
    if prefixes["S"] + prefixes["E"]:
        return TagScheme("BIOES")
    return TagScheme("IOB1" if starts["I"] > starts["B"] else "BIO")
