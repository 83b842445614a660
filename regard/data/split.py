"""Splitting dev and test off a corpus, by source: a source never occurs in two splits."""

import hashlib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from regard.errors import DataError
from regard.formats import Pair

MAX_HELD_OUT = 1000
HELD_OUT_FRACTION = 0.02
CHUNK = 100_000


@dataclass(frozen=True)
class HeldOutSources:
    """The digests of the sources that are held out."""

    dev: frozenset[int]
    test: frozenset[int]
    seed: int

    def split_of(self, pair: Pair) -> str:
        if not (self.dev or self.test):
            return "train"
        source_digest = digest(pair.source, self.seed) >> 1
        return "dev" if source_digest in self.dev else "test" if source_digest in self.test else "train"


def digest(source: str, seed: int) -> int:
    """A pseudorandom number that depends only on the text and the seed."""
    raw = hashlib.blake2b(source.encode("utf-8"), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(raw, "little")


def hold_out(
    sources: Iterable[str], seed: int, dev: bool, test: bool, seen_sources: Container[str] = ()
) -> HeldOutSources:
    """Choose min(1,000, 2 %) sources for each requested split: those with the smallest digests.

    Sources in `seen_sources` are chosen only if there are too few others.
    """
    total, smallest = 0, np.empty(0, np.uint64)
    # The lower half of all numbers for new sources, the upper half for those seen before.
    digests = (digest(source, seed) >> 1 | (source in seen_sources) << 63 for source in sources)
    while chunk := list(islice(digests, CHUNK)):
        total += len(chunk)
        merged = np.unique(np.concatenate((smallest, np.asarray(chunk, np.uint64))))
        smallest = merged[: 3 * MAX_HELD_OUT]
    candidates = smallest.tolist()
    if len(candidates) < 3:
        raise DataError(
            f"{total} pairs with {len(candidates)} different sources are too few to split dev and test off; "
            f"add --dev, or more pairs"
        )
    set_size = max(1, min(MAX_HELD_OUT, int(total * HELD_OUT_FRACTION), len(candidates) // 3))
    candidates = [value & ~(1 << 63) for value in candidates]
    dev_digests = frozenset(candidates[:set_size]) if dev else frozenset()
    test_digests = frozenset(candidates[set_size : 2 * set_size]) if test else frozenset()
    return HeldOutSources(dev_digests, test_digests, seed)
