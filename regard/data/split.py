"""Holding sentences out of training, by source: the same source never stands on both sides."""

import hashlib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from regard.errors import DataError
from regard.formats import Pair

LARGEST = 1000
SHARE = 0.02
CHUNK = 100_000


@dataclass(frozen=True)
class Held:
    """Which sources are held out, known by their digests."""

    dev: frozenset[int]
    test: frozenset[int]
    seed: int

    def set_of(self, pair: Pair) -> str:
        if not (self.dev or self.test):
            return "train"
        mark = digest(pair.source, self.seed) >> 1
        return "dev" if mark in self.dev else "test" if mark in self.test else "train"


def digest(source: str, seed: int) -> int:
    """A number that looks random and depends on nothing but the text and the seed."""
    raw = hashlib.blake2b(source.encode("utf-8"), digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(raw, "little")


def hold_out(sources: Iterable[str], seed: int, dev: bool, test: bool, seen: Container[str] = ()) -> Held:
    """Choose min(1,000, 2 %) sources for each set that is wanted: those with the smallest digests.

    Sources that were seen before are chosen only where there are too few others.
    """
    total, smallest = 0, np.empty(0, np.uint64)
    # Half of all numbers for what is new, and the other half for what was seen.
    marks = (digest(source, seed) >> 1 | (source in seen) << 63 for source in sources)
    while chunk := list(islice(marks, CHUNK)):
        total += len(chunk)
        merged = np.unique(np.concatenate((smallest, np.asarray(chunk, np.uint64))))
        smallest = merged[: 3 * LARGEST]
    chosen = smallest.tolist()
    if len(chosen) < 3:
        raise DataError(
            f"{total} pairs with {len(chosen)} different sources are too few to hold sentences out of them; "
            f"give --dev, or more pairs"
        )
    each = max(1, min(LARGEST, int(total * SHARE), len(chosen) // 3))
    chosen = [mark & ~(1 << 63) for mark in chosen]
    wanted_dev = frozenset(chosen[:each]) if dev else frozenset()
    wanted_test = frozenset(chosen[each : 2 * each]) if test else frozenset()
    return Held(wanted_dev, wanted_test, seed)
