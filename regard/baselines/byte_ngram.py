"""A language model of counts: the next byte by the bytes before it, with Witten-Bell smoothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from regard.baselines.selection import choose_in_turn, spaced
from regard.errors import DataError
from regard.metrics.intervals import FloatArray

BOUNDARY = 256
"""Stands before and after every document, beside the 256 bytes."""
NUM_SYMBOLS = 257
ORDERS = (5, 4, 6, 3)
"""Of which the best on dev is chosen, never on the text that is scored; without dev, the first."""
MAX_ORDER = 7
"""257^7 is the largest power in 64 bits."""
MAX_TRAINING_BYTES = 1 << 25
CHUNK = 1 << 21
"""Positions in memory at a time."""
Keys = NDArray[np.int64]


@dataclass(frozen=True)
class NGramCounts:
    """All n-grams of one length with their counts, and what they say about their contexts.

    An n-gram is a number in base 257, its last symbol in the last digit, so its context is the number divided by 257.
    """

    ngrams: Keys
    counts: Keys
    contexts: Keys
    totals: Keys
    """How often each context occurs."""
    types: Keys
    """How many different symbols follow each context."""

    @classmethod
    def from_ngrams(cls, ngrams: Keys, counts: Keys) -> Self:
        """Of n-grams that are sorted."""
        contexts, starts = np.unique(ngrams // NUM_SYMBOLS, return_index=True)
        types = np.diff(np.append(starts, len(ngrams)))
        return cls(ngrams, counts, contexts, np.add.reduceat(counts, starts), types)

    def interpolate(self, keys: Keys, shorter: FloatArray) -> FloatArray:
        """(count(h w) + types(h) · p(w | shorter h)) / (count(h) + types(h)).  Witten and Bell 1991, method C.

        A context that never occurs leaves the shorter one's probability.
        """
        count = _look_up(self.ngrams, self.counts, keys)
        total, types = (_look_up(self.contexts, values, keys // NUM_SYMBOLS) for values in (self.totals, self.types))
        is_known = total > 0
        return np.where(is_known, (count + types * shorter) / np.where(is_known, total + types, 1), shorter)


@dataclass(frozen=True)
class ByteNGram:
    """Counts of n-grams of bytes, from one byte to `order`."""

    tables: tuple[NGramCounts, ...]
    """The shortest first."""

    @property
    def order(self) -> int:
        return len(self.tables)

    @property
    def name(self) -> str:
        return f"byte {self.order}-gram, Witten-Bell"

    @classmethod
    def choose(cls, documents: Sequence[str], dev: Sequence[str]) -> "ByteNGram":
        """The n-grams of documents, of the order that needs the fewest bits for dev."""
        longest = cls.fit(documents, max(ORDERS))  # the tables of an order hold those of all shorter ones

        def cut(order: int) -> "ByteNGram":
            return replace(longest, tables=longest.tables[:order])

        score = (lambda one: -sum(map(one.bits, dev))) if any(dev) else None
        return choose_in_turn(cut, {"order": ORDERS}, score)

    @classmethod
    def fit(cls, documents: Sequence[str], order: int = ORDERS[0]) -> Self:
        """Count the n-grams of documents: at most MAX_TRAINING_BYTES of them, evenly spaced."""
        if not 1 <= order <= MAX_ORDER:
            raise DataError(f"n-grams of {order} bytes cannot be counted; expected 1 to {MAX_ORDER}")
        if not any(documents):
            raise DataError("no text to count n-grams of; expected at least one document that is not empty")
        stream = SymbolStream.join(_limit_bytes([_encode(document) for document in documents]), order)
        return cls(tuple(_count_ngrams(stream, length, order) for length in range(1, order + 1)))

    def byte_bits(self, document: str) -> FloatArray:
        """Bits of every byte of a document and of its end: (bytes + 1,). Each is predicted by what is before it."""
        return self._bits(SymbolStream.join([_encode(document)], self.order))

    def bits(self, document: str) -> float:
        """Bits of a document, its end included."""
        return float(self.byte_bits(document).sum())

    def _bits(self, stream: "SymbolStream") -> FloatArray:
        """Bits of all symbols of a stream that are predicted."""
        return np.concatenate([self._chunk_bits(chunk) for chunk in stream.chunks(self.order)])

    def _chunk_bits(self, chunk: "SymbolStream") -> FloatArray:
        probabilities = np.full(np.count_nonzero(chunk.is_predicted[self.order - 1 :]), 1 / NUM_SYMBOLS)
        for length, table in enumerate(self.tables, start=1):
            probabilities = table.interpolate(chunk.ngrams(length, self.order), probabilities)
        return -np.log2(probabilities)


@dataclass(frozen=True)
class SymbolStream:
    """The bytes of documents in a row, each document after order - 1 boundaries that are context alone."""

    symbols: NDArray[np.uint16]
    is_predicted: NDArray[np.bool_]

    @classmethod
    def join(cls, documents: Sequence[bytes], order: int) -> Self:
        """Documents with one boundary as their end."""
        size = sum(map(len, documents)) + len(documents) * order
        symbols, is_predicted = np.full(size, BOUNDARY, np.uint16), np.zeros(size, bool)
        start = 0
        for document in documents:
            start += order - 1
            symbols[start : start + len(document)] = np.frombuffer(document, np.uint8)
            is_predicted[start : start + len(document) + 1] = True
            start += len(document) + 1
        return cls(symbols, is_predicted)

    def chunks(self, order: int) -> Iterator[Self]:
        """Parts of the stream, each with the order - 1 symbols before it."""
        for start in range(0, len(self.symbols) - order + 1, CHUNK):
            part = slice(start, start + CHUNK + order - 1)
            yield replace(self, symbols=self.symbols[part], is_predicted=self.is_predicted[part])

    def ngrams(self, length: int, order: int) -> Keys:
        """The n-grams of one length that end at predicted symbols, as numbers; the first order - 1 are context."""
        num_ends = len(self.symbols) - order + 1
        keys = np.zeros(num_ends, np.int64)
        for offset in range(order - length, order):
            keys = keys * NUM_SYMBOLS + self.symbols[offset : offset + num_ends]
        return keys[self.is_predicted[order - 1 :]]


def _count_ngrams(stream: SymbolStream, length: int, order: int) -> NGramCounts:
    """The n-grams of one length, counted chunk by chunk."""
    ngrams, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for chunk in stream.chunks(order):
        new_ngrams, new_counts = np.unique(chunk.ngrams(length, order), return_counts=True)
        ngrams, positions = np.unique(np.concatenate((ngrams, new_ngrams)), return_inverse=True)
        # Sums of integers below 2^53 are exact in floating point.
        counts = np.bincount(positions, np.concatenate((counts, new_counts))).astype(np.int64)
    return NGramCounts.from_ngrams(ngrams, counts)


def _encode(document: str) -> bytes:
    return document.encode("utf-8", "surrogatepass")


def _limit_bytes(documents: Sequence[bytes]) -> list[bytes]:
    """Documents at even distances; where they are longer than the average, only their beginnings."""
    size = sum(map(len, documents))
    if size <= MAX_TRAINING_BYTES:
        return list(documents)
    selected = spaced(documents, max(1, len(documents) * MAX_TRAINING_BYTES // size))
    return [document[: MAX_TRAINING_BYTES // len(selected)] for document in selected]


def _look_up(keys: Keys, values: Keys, wanted: Keys) -> Keys:
    """The values of sorted keys, 0 for those that are absent."""
    positions = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[positions] == wanted, values[positions], 0)
