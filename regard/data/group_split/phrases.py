"""Which texts are a part of which: the phrases of a sentence, word for word.

Texts are read from the longest to the shortest. One that no longer text contains is maximal, and is searched for all
others, which are found in a table of their first words. So each maximal text is read once, and memory is that of the
texts: for a phrase only the number of maximal texts that contain it is kept, and one of them.

A phrase of one maximal text is in its group. A phrase of several ("one of the best") is shared: it joins nothing,
otherwise single words would join a whole corpus into one group.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regard.data.label_doctor.parts import compared_words
from regard.data.normalization import normalize_source
from regard.data.store import Array

WIDTH = array("I").itemsize
ANCHORS = (1, 3, 8, 32, 128)
"""Numbers of first words by which texts are looked up: of each text the largest that it has. Between two of them are
few lengths, so that few candidates are compared wherever the same words begin."""


class WordEncoder:
    """Texts as the numbers of their words, packed into bytes: a part of a text is a slice."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> bytes:
        words: Iterable[str] = compared_words(text) or (normalize_source(text),)  # a text of marks is a word
        numbers = self._numbers
        return array("I", (numbers.setdefault(word, len(numbers)) for word in words)).tobytes()


class PhraseGroups:
    """Distinct texts, each maximal, a phrase of one maximal text, or shared by several."""

    def __init__(self, texts: Sequence[bytes]):
        self.texts = list(dict.fromkeys(texts))
        self._numbers = {text: number for number, text in enumerate(self.texts)}
        self.numbers = np.array([self._numbers[text] for text in texts], np.int64)
        """The number of each text among the distinct ones."""
        self.sizes = np.array([len(text) // WIDTH for text in self.texts], np.int64)
        """Words of each distinct text."""
        self._sizes_by_start = self._index_starts()
        self._anchors = [anchor for anchor in ANCHORS if anchor <= self.sizes.max(initial=0)]
        self.num_containers = np.zeros(len(self.texts), np.int64)
        """Maximal texts that contain each text."""
        self.groups = np.arange(len(self.texts))
        """The maximal text whose group each text is in: itself, if it is maximal; -1 if it is shared."""
        self._find_groups()

    def parts(self, number: int) -> set[int]:
        """The other texts that are a part of a text."""
        text, numbers, sizes_by_start = self.texts[number], self._numbers, self._sizes_by_start
        parts = set()
        for begin in range(0, len(text), WIDTH):
            for anchor in self._anchors:
                for size in sizes_by_start.get(text[begin : begin + anchor * WIDTH], ()):
                    part = numbers.get(text[begin : begin + size])
                    if part is not None:
                        parts.add(part)
        parts.discard(number)
        return parts

    def count_containers(self, maximal_texts: Iterable[int]) -> Array:
        """How many of these maximal texts contain each text."""
        counts = np.zeros(len(self.texts), np.int64)
        for number in maximal_texts:
            counts[list(self.parts(number))] += 1
        return counts

    def _find_groups(self) -> None:
        for number in np.argsort(-self.sizes, kind="stable").tolist():
            if self.num_containers[number]:  # its parts are parts of the longer text, too
                continue
            parts = list(self.parts(number))
            self.num_containers[parts] += 1
            self.groups[parts] = number
        self.groups[self.num_containers > 1] = -1

    def _index_starts(self) -> dict[bytes, tuple[int, ...]]:
        """The lengths, in bytes, of the texts that begin with the same words."""
        sizes: dict[bytes, set[int]] = {}
        for text in self.texts:
            anchor = max(anchor for anchor in ANCHORS if anchor * WIDTH <= len(text))
            sizes.setdefault(text[: anchor * WIDTH], set()).add(len(text))
        return {start: tuple(values) for start, values in sizes.items()}

    def __iter__(self) -> Iterator[int]:
        """The maximal texts."""
        return iter(np.flatnonzero(self.num_containers == 0).tolist())
