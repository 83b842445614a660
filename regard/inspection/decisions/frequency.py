"""Random words that are as frequent as given ones: the baseline of every statement about words."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

NUM_NEIGHBORS = 20
"""Words of the nearest frequency among which a random one is drawn."""


def normalize(word: str) -> str:
    """The word as it is counted: without regard to case."""
    return word.casefold()


def is_lexical(word: str) -> bool:
    """Whether it is a word rather than a mark."""
    return any(map(str.isalnum, word))


def count_texts(texts: Iterable[Sequence[str]]) -> Counter[str]:
    """The number of texts, each a sequence of words, that have each word; marks are not counted."""
    return Counter(name for words in texts for name in {normalize(word) for word in words if is_lexical(word)})


def draw_equally_frequent(
    frequencies: Counter[str], words: Collection[str], num_draws: int, seed: int
) -> list[frozenset[str]]:
    """Random sets of other words: for each of `words`, one of the 20 whose frequency is nearest.

    A set has fewer words where two draw the same one.
    """
    others = sorted(frequencies.keys() - set(words))
    if not others:
        return []
    counts = np.array([frequencies[word] for word in others])
    draws: list[set[str]] = [set() for _ in range(num_draws)]
    for index, word in enumerate(sorted(words)):
        rng = np.random.default_rng((seed, index))
        order = rng.permutation(len(others))  # so that ties are broken at random, and not by the alphabet
        nearest = order[np.argsort(np.abs(counts[order] - frequencies[word]), kind="stable")][:NUM_NEIGHBORS]
        for drawn, choice in zip(draws, rng.choice(nearest, num_draws), strict=True):
            drawn.add(others[choice])
    return [frozenset(drawn) for drawn in draws]
