"""Splitting dev and test off a corpus, by source: a source never occurs in two splits, nor twice in dev or in test.

Two sources are the same if they are after `normalize_source`: what differs in case, blanks or compatibility forms only
would be memorized, not translated. Of several held-out pairs with the same source, also with different targets, the
first one is held out and the others are left out of every split: dev and test have one reference for each source, and
a repeated sentence would count twice.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from regard.data.normalization import hash_source
from regard.errors import DataError
from regard.formats import Pair

MAX_HELD_OUT = 1000
HELD_OUT_FRACTION = 0.02
CHUNK = 100_000


@dataclass(frozen=True)
class HeldOutSources:
    """The hashes of the sources that are held out."""

    dev: frozenset[int]
    test: frozenset[int]
    seed: int

    def assign(self, pairs: Iterable[Pair]) -> Iterator[tuple[str, Pair]]:
        """Each pair with its split; a pair that repeats a held-out source is left out."""
        assigned: set[int] = set()
        for pair in pairs:
            source_hash = hash_source(pair.source, self.seed) >> 1 if self.dev or self.test else 0
            split = "dev" if source_hash in self.dev else "test" if source_hash in self.test else "train"
            if split != "train":
                if source_hash in assigned:
                    continue
                assigned.add(source_hash)
            yield split, pair


def hold_out(
    sources: Iterable[str],
    seed: int,
    dev: bool,
    test: bool,
    seen_sources: Container[str] = (),
    examples: str = "pairs",
) -> HeldOutSources:
    """Choose min(1,000, 2 %) sources for each requested split: those with the smallest hashes.

    Sources in `seen_sources` are chosen only if there are too few others. `examples` is the word for what has a source.
    """
    total, smallest = 0, np.empty(0, np.uint64)
    # The lower half of all numbers for new sources, the upper half for those seen before.
    hashes = (hash_source(source, seed) >> 1 | (source in seen_sources) << 63 for source in sources)
    while chunk := list(islice(hashes, CHUNK)):
        total += len(chunk)
        merged = np.unique(np.concatenate((smallest, np.asarray(chunk, np.uint64))))
        smallest = merged[: 3 * MAX_HELD_OUT]
    candidates = smallest.tolist()
    if len(candidates) < 3:
        raise DataError(
            f"{total} {examples} with {len(candidates)} different sources are too few to split dev and test off; "
            f"add --dev, or more {examples}"
        )
    set_size = max(1, min(MAX_HELD_OUT, int(total * HELD_OUT_FRACTION), len(candidates) // 3))
    candidates = [value & ~(1 << 63) for value in candidates]
    dev_hashes = frozenset(candidates[:set_size]) if dev else frozenset()
    test_hashes = frozenset(candidates[set_size : 2 * set_size]) if test else frozenset()
    return HeldOutSources(dev_hashes, test_hashes, seed)
