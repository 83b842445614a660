"""Texts that are a part of a longer one: every word in order, as the phrases of a sentence are."""

import re
from collections import defaultdict
from collections.abc import Iterable

from regard.data.normalization import normalize_source
from regard.languages import is_unspaced, split_words

WORD = re.compile(r"\w+")

MIN_WORDS = 3
"""A shorter text is a part of many longer ones by chance."""


class PartIndex:
    """Short texts, of which those are found that occur inside longer ones."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_start: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        for words in {compared_words(text) for text in texts}:
            if len(words) >= MIN_WORDS:
                self._by_start[words[:MIN_WORDS]].append(words)
        self._locations: dict[tuple[str, ...], str] = {}

    def add_longer(self, text: str, location: str) -> None:
        """Record which of the texts are a part of this one, which is longer."""
        words = compared_words(text)
        for start in range(len(words) - MIN_WORDS + 1):
            for part in self._by_start.get(words[start : start + MIN_WORDS], ()):
                if len(part) < len(words) and words[start : start + len(part)] == part:
                    self._locations.setdefault(part, location)

    def find(self, text: str) -> str:
        """Where a longer text was read of which this one is a part; empty if there was none."""
        return self._locations.get(compared_words(text), "")


def compared_words(text: str) -> tuple[str, ...]:
    """The words of a text without punctuation, in lower case."""
    spaced = " ".join(split_words(text)) if is_unspaced(text) else text
    return tuple(WORD.findall(normalize_source(spaced)))
