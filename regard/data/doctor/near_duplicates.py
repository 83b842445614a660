"""Near-duplicates: texts that share most of their character n-grams, in bounded memory and time.

MinHash (Broder 1997): the probability that the smallest hash of two sets of n-grams is the same is their Jaccard
similarity, so the share of equal minima of `NUM_HASHES` hash functions estimates it, to about ± 0.06. Only texts that
agree on all `ROWS` minima of one of the `BANDS` bands are candidates (Indyk and Motwani 1998): 99 % of the pairs of
texts with a similarity of 0.75 are, and 9 % of those with 0.3. The best candidate of each text, by the estimate, counts
if its exact similarity is `MIN_SIMILARITY` or more.

All texts are normalized by `normalize_source`, and only their first `MAX_CHARS` characters are compared. Within a split
a text takes 110 bytes and its UTF-8 in scratch files, and the first `MAX_TEXTS` are compared with each other: for two
million sentences about 350 MB on disk, and 100 MB in memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

NGRAM = 4
NUM_HASHES = 48
ROWS = 4
BANDS = NUM_HASHES // ROWS
MIN_SIMILARITY = 0.75
MIN_EQUAL = round(NUM_HASHES * (MIN_SIMILARITY - 0.1))  # what the estimate misses is below the true similarity
MAX_TEXTS = 2_000_000
MAX_CHARS = 500
BLOCK_SIZE = 1 << 16

ROW = np.dtype(
    [("index", "<u4"), ("start", "<u8"), ("length", "<u2"), ("bands", "<u4", BANDS), ("sketch", "u1", NUM_HASHES)]
)
Sketches = NDArray[np.uint32]
Rows = NDArray[np.uint32]

_RANDOM = np.random.default_rng(20_110_519)  # constants, the same in every run
_GRAM_FACTORS = _RANDOM.integers(0, 2**32, NGRAM, dtype=np.uint32) | np.uint32(1)
_OFFSETS = _RANDOM.integers(0, 2**32, NUM_HASHES, dtype=np.uint32)
_FACTORS = _RANDOM.integers(0, 2**32, NUM_HASHES, dtype=np.uint32) | np.uint32(1)
_BAND_FACTORS = _RANDOM.integers(0, 2**32, ROWS, dtype=np.uint32) | np.uint32(1)


def compute_similarity(one: str, two: str) -> float:
    """The Jaccard similarity of the sets of character n-grams of two normalized texts."""
    grams = [{text[i : i + NGRAM] for i in range(max(1, len(text) - NGRAM + 1))} for text in (one, two)]
    return len(grams[0] & grams[1]) / len(grams[0] | grams[1])


def are_near(one: str, two: str) -> bool:
    """Whether two normalized texts are near-duplicates."""
    return compute_similarity(one, two) >= MIN_SIMILARITY


def sketch_texts(texts: Sequence[str]) -> Sketches:
    """The smallest value of each hash function over the n-grams of each normalized text: (texts, NUM_HASHES)."""
    hashes, starts = _hash_ngrams(texts)
    minima = np.empty((len(texts), NUM_HASHES), np.uint32)
    for number, (offset, factor) in enumerate(zip(_OFFSETS, _FACTORS, strict=True)):
        minima[:, number] = np.minimum.reduceat((hashes ^ offset) * factor, starts)
    return minima


def hash_bands(sketches: Sketches) -> NDArray[np.uint32]:
    """One number for each band of a sketch: (texts, BANDS)."""
    return _mix((sketches.reshape(-1, BANDS, ROWS) * _BAND_FACTORS).sum(axis=2, dtype=np.uint32))


def _hash_ngrams(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """A hash of every n-gram, text after text, and where those of each text begin; a short text is one n-gram."""
    padded = [text.ljust(NGRAM, "\0") for text in texts]
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
    lengths = np.fromiter(map(len, padded), np.int64, len(padded))
    count = len(codes) - NGRAM + 1
    hashes = sum((codes[i : i + count] * factor for i, factor in enumerate(_GRAM_FACTORS)), np.zeros(count, np.uint32))
    ends = np.cumsum(lengths)
    is_inside = np.ones(len(codes), bool)
    for i in range(1, NGRAM):  # n-grams that begin here reach into the next text
        is_inside[ends - i] = False
    return _mix(hashes[is_inside[:count]]), np.concatenate(([0], np.cumsum(lengths - NGRAM + 1)[:-1]))


def _mix(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Every bit of the result depends on every bit of the value.  Wellons 2018 (lowbias32)."""
    values = (values ^ (values >> np.uint32(16))) * np.uint32(0x7FEB352D)
    values = (values ^ (values >> np.uint32(15))) * np.uint32(0x846CA68B)
    return values ^ (values >> np.uint32(16))


class HeldOutIndex:
    """Finds the text of a small set that a text of a large one is nearly the same as."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [text[:MAX_CHARS] for text in texts]
        self._sketches = sketch_texts(self.texts) if texts else np.empty((0, NUM_HASHES), np.uint32)
        bands = hash_bands(self._sketches)
        self._orders = [np.argsort(bands[:, band], kind="stable") for band in range(BANDS)]
        self._sorted_bands = [bands[order, band] for band, order in enumerate(self._orders)]

    def find(self, texts: Sequence[str], sketches: Sketches) -> list[int | None]:
        """For each text the number of one of the set that is nearly the same; None if there is none."""
        best, most_equal = np.full(len(texts), -1), np.full(len(texts), MIN_EQUAL - 1)
        bands = hash_bands(sketches)
        for band in range(BANDS) if self.texts else ():
            values, order = self._sorted_bands[band], self._orders[band]
            positions = np.minimum(np.searchsorted(values, bands[:, band]), len(values) - 1)
            rows = np.flatnonzero(values[positions] == bands[:, band])
            candidates = order[positions[rows]]
            num_equal = (sketches[rows] == self._sketches[candidates]).sum(axis=1)
            better = num_equal > most_equal[rows]
            best[rows[better]], most_equal[rows[better]] = candidates[better], num_equal[better]
        return [
            candidate if candidate >= 0 and are_near(text, self.texts[candidate]) else None
            for text, candidate in zip(texts, best.tolist(), strict=True)
        ]


@dataclass(frozen=True)
class NearDuplicate:
    """A text that is nearly the same as an earlier one."""

    index: int
    earlier_index: int
    earlier_text: str


class NearDuplicateFinder:
    """Collects the texts of a split, and finds those that are nearly the same as an earlier one."""

    def __init__(self, scratch: Path | None = None, max_texts: int = MAX_TEXTS) -> None:
        self._rows, self._texts = (TemporaryFile(dir=scratch) for _ in range(2))  # noqa: SIM115 - closed by close()
        self._max_texts, self._count, self._end = max_texts, 0, 0

    def add(self, texts: Sequence[str], sketches: Sketches, indices: Sequence[int]) -> None:
        """Add texts with their indices in the split, which must ascend."""
        count = min(len(texts), self._max_texts - self._count)
        if count <= 0:
            return
        raw_texts = [text.encode("utf-8", "surrogatepass") for text in texts[:count]]
        lengths = np.fromiter(map(len, raw_texts), np.int64, count)
        rows = np.empty(count, ROW)
        rows["index"], rows["length"] = indices[:count], lengths
        rows["start"] = self._end + np.concatenate(([0], np.cumsum(lengths)[:-1]))
        rows["bands"], rows["sketch"] = hash_bands(sketches[:count]), sketches[:count] & np.uint32(255)
        try:
            self._rows.write(rows.tobytes())
            self._texts.write(b"".join(raw_texts))
        except OSError as error:
            raise DataError(
                f"the scratch files for finding near-duplicates cannot be written ({error.strerror}); they take "
                f"{ROW.itemsize} bytes and the source for each pair: free space in the folder for temporary files "
                f"(TMPDIR)"
            ) from None
        self._count, self._end = self._count + count, self._end + int(lengths.sum())

    def find(self) -> Iterator[NearDuplicate]:
        """The near-duplicates, in order."""
        if not self._count:
            return
        self._rows.flush()
        self._texts.flush()
        rows = np.memmap(self._rows, ROW, mode="r")
        texts = np.memmap(self._texts, np.uint8, mode="r") if self._end else np.empty(0, np.uint8)
        candidates = self._select_candidates(rows)
        for number in np.flatnonzero(candidates != np.arange(len(rows))).tolist():
            earlier = rows[candidates[number]]
            text, earlier_text = _read_text(texts, rows[number]), _read_text(texts, earlier)
            if are_near(text, earlier_text):
                yield NearDuplicate(int(rows["index"][number]), int(earlier["index"]), earlier_text)

    def close(self) -> None:
        self._rows.close()
        self._texts.close()

    def _select_candidates(self, rows: NDArray[np.void]) -> Rows:
        """For each row the earlier one with the most similar sketch; the row itself if none is similar enough."""
        best, most_equal = np.arange(len(rows), dtype=np.uint32), np.full(len(rows), MIN_EQUAL - 1, np.uint8)
        for band in range(BANDS):
            for later, earlier in _list_candidates(np.ascontiguousarray(rows["bands"][:, band])):
                for start in range(0, len(later), BLOCK_SIZE):
                    one, two = later[start : start + BLOCK_SIZE], earlier[start : start + BLOCK_SIZE]
                    num_equal = (rows["sketch"][one] == rows["sketch"][two]).sum(axis=1, dtype=np.uint8)
                    better = num_equal > most_equal[one]
                    best[one[better]], most_equal[one[better]] = two[better], num_equal[better]
        return best


def _read_text(texts: NDArray[np.uint8], row: np.void) -> str:
    raw = texts[int(row["start"]) : int(row["start"]) + int(row["length"])]
    return raw.tobytes().decode("utf-8", "surrogatepass")


def _list_candidates(bands: NDArray[np.uint32]) -> Iterator[tuple[Rows, Rows]]:
    """Rows with the same band as an earlier row: each with the first such row, then with the one just before it."""
    order = np.argsort(bands, kind="stable").astype(np.uint32)
    is_first = np.concatenate(([True], bands[order[1:]] != bands[order[:-1]]))
    positions = np.flatnonzero(~is_first)
    firsts = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    yield order[positions], order[firsts[positions]]
    yield order[positions], order[positions - 1]
