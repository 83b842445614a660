"""Duplicate pairs and repeated sources: exact up to hash collisions, in bounded memory.

Every pair takes 20 bytes (two digests of 8 bytes and its index) in a scratch file, which stays in memory up to a
million pairs and goes to disk above that. The digests are then compared in parts, by digest modulo the number of
parts, so that no part holds more than about `PART_SIZE` distinct ones, however often some of them occur. In memory at
once: the sorted digests of one part and space to merge them, one block of rows, and a few bits a pair for the result.
That is 80 MB, and 15 MB more for 30 million pairs.

The probability that any two different texts among 30 million pairs share a digest of 8 bytes is 2e-5.
"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from tempfile import SpooledTemporaryFile

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

ROW = np.dtype([("source", "<u8"), ("pair", "<u8"), ("index", "<u4")])
ROWS_PER_WRITE = 1 << 16
BLOCK_SIZE = 1 << 19
PART_SIZE = 1 << 21
MAX_BYTES_IN_MEMORY = 1_000_000 * ROW.itemsize

Digests = NDArray[np.uint64]


def digest(text: str, prefix: bytes = b"") -> bytes:
    """Eight bytes that depend only on the text; surrounding white space is ignored."""
    raw = text.strip().encode("utf-8", "surrogatepass")  # a JSON file may contain lone surrogates
    return blake2b(prefix + raw, digest_size=8).digest()


class BitSet:
    """A set of indices into a stream, one bit each."""

    def __init__(self, raw: bytes = b"") -> None:
        self._raw = bytearray(raw)

    def add(self, index: int) -> None:
        byte = index >> 3
        if byte >= len(self._raw):
            self._raw.extend(bytes(byte + 1 - len(self._raw) + 4096))
        self._raw[byte] |= 1 << (index & 7)

    def update(self, indices: NDArray[np.uint32]) -> None:
        if len(indices):
            self.add(int(indices.max()))
            np.bitwise_or.at(self._bytes(), indices >> 3, np.left_shift(1, indices & 7).astype(np.uint8))

    def __or__(self, other: "BitSet") -> "BitSet":
        one, two = self._padded(other)
        return BitSet((one | two).tobytes())

    def __sub__(self, other: "BitSet") -> "BitSet":
        one, two = self._padded(other)
        return BitSet((one & ~two).tobytes())

    def __contains__(self, index: int) -> bool:
        byte = index >> 3
        return byte < len(self._raw) and bool(self._raw[byte] >> (index & 7) & 1)

    def __len__(self) -> int:
        return int.from_bytes(self._raw, "little").bit_count()

    def first(self, count: int) -> list[int]:
        """The smallest `count` indices."""
        used = np.flatnonzero(self._bytes())[:count].tolist()
        return [byte * 8 + bit for byte in used for bit in range(8) if self._raw[byte] >> bit & 1][:count]

    def _bytes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self._raw, np.uint8)

    def _padded(self, other: "BitSet") -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        size = max(len(self._raw), len(other._raw))
        one, two = (np.zeros(size, np.uint8) for _ in range(2))
        one[: len(self._raw)], two[: len(other._raw)] = self._bytes(), other._bytes()
        return one, two


class DuplicateFinder:
    """Collects pairs with their indices, and finds those that occurred before."""

    def __init__(self, scratch: Path | None = None, block_size: int = BLOCK_SIZE, part_size: int = PART_SIZE) -> None:
        folder = str(scratch) if scratch else None
        self._file = SpooledTemporaryFile(max_size=MAX_BYTES_IN_MEMORY, dir=folder)  # noqa: SIM115 - closed by close()
        self._rows: list[bytes] = []
        self._block_size, self._part_size, self._rows_per_write = block_size, part_size, min(block_size, ROWS_PER_WRITE)
        self._count = 0

    def add(self, source: str, target: str, index: int) -> None:
        source_digest = digest(source)
        pair_digest = digest(target, source_digest)
        self._rows.append(source_digest + pair_digest + index.to_bytes(4, "little"))
        if len(self._rows) == self._rows_per_write:
            self._write()

    def find(self) -> tuple[BitSet, BitSet]:
        """The indices of duplicate pairs, and of new pairs whose source occurred before with another target."""
        self._write()
        pairs, sources = self._find_repeated("pair"), self._find_repeated("source")
        return pairs, sources - pairs

    def close(self) -> None:
        self._file.close()

    def _write(self) -> None:
        try:
            self._file.seek(0, 2)
            self._file.write(b"".join(self._rows))
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"the scratch file for finding duplicate pairs cannot be written ({error.strerror}); "
                f"it takes {ROW.itemsize} bytes per pair: free space in the folder for temporary files (TMPDIR)"
            ) from None
        self._count += len(self._rows)
        self._rows = []

    def _blocks(self) -> Iterator[NDArray[np.void]]:
        self._file.seek(0)
        while raw := self._file.read(self._block_size * ROW.itemsize):
            yield np.frombuffer(raw, ROW)

    def _find_repeated(self, column: str) -> BitSet:
        repeated = BitSet()
        parts = -(-self._count // self._part_size)
        for part in range(parts):
            known_digests: Digests = np.empty(0, np.uint64)
            for rows in self._blocks():
                part_rows = rows[rows[column] % np.uint64(parts) == part]
                # `first` are the indices of first occurrences, so all others repeat one within this block.
                values, first = np.unique(part_rows[column], return_index=True)
                is_new = ~_in_sorted(values, known_digests)
                is_repeated = np.ones(len(part_rows), bool)
                is_repeated[first[is_new]] = False
                repeated.update(part_rows["index"][is_repeated])
                known_digests = np.concatenate((known_digests, values[is_new]))
                known_digests.sort(kind="stable")  # two sorted runs: a stable sort merges them
        return repeated


def _in_sorted(values: Digests, sorted_digests: Digests) -> NDArray[np.bool_]:
    """Which of the values are in a sorted array."""
    if not len(sorted_digests):
        return np.zeros(len(values), bool)
    positions = np.searchsorted(sorted_digests, values)
    positions[positions == len(sorted_digests)] = 0
    return sorted_digests[positions] == values
