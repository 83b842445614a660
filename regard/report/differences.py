"""A text beside its reference, word by word: what is not in the reference, what is missing, what is elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from regard.languages import word_spans
from regard.report.text import escape_html

Mark = Literal["", "extra", "missing", "moved"]
MAX_COMPARED_WORDS = 600
"""Of both texts together: the comparison of longer ones would take long, and say little."""
MEANINGS = {"extra": "not in the reference", "missing": "missing in the translation", "moved": "in another place"}


@dataclass(frozen=True)
class MarkedText:
    """A text in parts that are marked or not."""

    parts: Sequence[tuple[str, Mark]]

    @classmethod
    def plain(cls, text: str) -> MarkedText:
        return cls([(text, "")])

    @property
    def text(self) -> str:
        return "".join(part for part, _ in self.parts)

    def html(self) -> str:
        return "".join(
            f'<mark class="{mark}" title="{MEANINGS[mark]}">{escape_html(part)}</mark>' if mark else escape_html(part)
            for part, mark in self.parts
        )


def mark_differences(text: str, reference: str) -> tuple[MarkedText, MarkedText]:
    """The words of both texts that differ, in the longest common order of words; case does not count."""
    spans, wanted_spans = word_spans(text), word_spans(reference)
    if len(spans) + len(wanted_spans) > MAX_COMPARED_WORDS:
        return MarkedText.plain(text), MarkedText.plain(reference)
    sides = ((text, spans), (reference, wanted_spans))
    words, wanted = ([one[a:b].casefold() for a, b in where] for one, where in sides)
    common, common_wanted = set[int](), set[int]()
    for match in SequenceMatcher(None, words, wanted, autojunk=False).get_matching_blocks():
        common.update(range(match.a, match.a + match.size))
        common_wanted.update(range(match.b, match.b + match.size))
    moved = Counter(w for n, w in enumerate(words) if n not in common) & Counter(
        w for n, w in enumerate(wanted) if n not in common_wanted
    )
    return (
        _mark(text, spans, words, common, Counter(moved), "extra"),
        _mark(reference, wanted_spans, wanted, common_wanted, Counter(moved), "missing"),
    )


def _mark(
    text: str, spans: Sequence[tuple[int, int]], words: Sequence[str], common: set[int], moved: Counter[str], rest: Mark
) -> MarkedText:
    """The parts of a text: words in common are not marked, nor is what is between words."""
    parts: list[tuple[str, Mark]] = []
    end = 0
    for number, (a, b) in enumerate(spans):
        mark: Mark = "" if number in common else "moved" if moved[words[number]] > 0 else rest
        moved[words[number]] -= mark == "moved"
        parts += [(text[end:a], ""), (text[a:b], mark)]
        end = b
    return MarkedText([part for part in (*parts, (text[end:], "")) if part[0]])
