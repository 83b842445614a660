"""Vectors on disk, memory-mapped: float32, or int8 with a scale for each dimension.

A precision is an object: what writes vectors, and what opens them. Inner products are computed with queries that were
prepared: `prepared @ block.T` is the score, in float32, for every precision.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.store import open_memmap
from regard.errors import SearchIndexError
from regard.retrieval.index_folder import REMEDY
from regard.retrieval.ranking import Numbers

Vectors = NDArray[np.float32]
MAX_INT8 = 127
MAX_SCALE = float(np.finfo(np.float32).max) / (MAX_INT8 + 1)
"""What a number of int8 stands for is finite up to this."""
COPY_ROWS = 1 << 13
"""Vectors that are converted at a time."""


class StoredVectors(Protocol):
    """The vectors of all passages."""

    def prepare(self, queries: Vectors) -> Vectors:
        """Queries (Q, D), to be multiplied with blocks."""
        ...

    def block(self, begin: int, end: int) -> Vectors:
        """Consecutive rows, to be multiplied with prepared queries."""
        ...

    def decode(self, rows: Numbers) -> Vectors:
        """The vectors of these rows."""
        ...


class VectorWriter(Protocol):
    """Appends vectors to an index."""

    def add(self, vectors: Vectors) -> None: ...

    def finish(self) -> None:
        """Write what depends on all vectors."""
        ...


class VectorPrecision(Protocol):
    """How vectors are stored."""

    name: str

    def create(self, folder: Path, old: StoredVectors | None) -> VectorWriter:
        """A writer; `old` are the vectors of the index that is replaced, if their precision was the same."""
        ...

    def open(self, folder: Path, count: int, dim: int) -> StoredVectors: ...


class Float32Vectors:
    """Vectors as the encoder gives them."""

    def __init__(self, rows: Vectors):
        self._rows = rows

    def prepare(self, queries: Vectors) -> Vectors:
        return queries

    def block(self, begin: int, end: int) -> Vectors:
        return self._rows[begin:end]

    def decode(self, rows: Numbers) -> Vectors:
        return self._rows[rows]


class Int8Vectors:
    """A quarter of the size: x ≈ scale · n, with n from -127 to 127 and a scale for each dimension."""

    def __init__(self, rows: NDArray[np.int8], scales: Vectors):
        self._rows = rows
        self.scales = scales

    def prepare(self, queries: Vectors) -> Vectors:
        return queries * self.scales

    def block(self, begin: int, end: int) -> Vectors:
        return self._rows[begin:end].astype(np.float32)

    def decode(self, rows: Numbers) -> Vectors:
        return self._rows[rows] * self.scales


class Float32Writer:
    """Every call opens the file and closes it: none is left open by an error."""

    def __init__(self, path: Path):
        self._path = path
        path.touch()

    def add(self, vectors: Vectors) -> None:
        with self._path.open("ab") as file:
            file.write(np.ascontiguousarray(vectors, np.float32).tobytes())

    def finish(self) -> None:
        pass


class Int8Writer:
    """Keeps float32 in a file until the largest number of each dimension is known.

    Scales never shrink: vectors that were stored before come back bit for bit unless a scale has grown.
    """

    def __init__(self, folder: Path, old_scales: Vectors | None):
        self._folder, self._spill = folder, folder / "vectors.tmp"
        self._writer = Float32Writer(self._spill)
        self._scales = old_scales

    def add(self, vectors: Vectors) -> None:
        self._writer.add(vectors)
        largest = np.abs(vectors).max(axis=0, initial=0) / MAX_INT8
        self._scales = largest if self._scales is None else np.maximum(self._scales, largest)

    def finish(self) -> None:
        scales = np.empty(0, np.float32) if self._scales is None else self._scales.astype(np.float32)
        (self._folder / "scales").write_bytes(scales.tobytes())
        with self._spill.open("rb") as source, (self._folder / "vectors").open("wb") as target:
            while len(flat := np.fromfile(source, np.float32, COPY_ROWS * max(1, len(scales)))):
                target.write(quantize(flat.reshape(-1, len(scales)), scales).tobytes())
        self._spill.unlink()


def quantize(vectors: Vectors, scales: Vectors) -> NDArray[np.int8]:
    """The nearest multiples of the scales; a dimension that is 0 everywhere stays 0."""
    divisors = np.where(scales > 0, scales, 1)
    return np.clip(np.rint(vectors / divisors), -MAX_INT8, MAX_INT8).astype(np.int8)


class Float32Precision:
    name = "float32"

    def create(self, folder: Path, old: StoredVectors | None) -> VectorWriter:
        return Float32Writer(folder / "vectors")

    def open(self, folder: Path, count: int, dim: int) -> StoredVectors:
        return Float32Vectors(_open_rows(folder / "vectors", np.float32, count, dim))


class Int8Precision:
    name = "int8"

    def create(self, folder: Path, old: StoredVectors | None) -> VectorWriter:
        return Int8Writer(folder, old.scales if isinstance(old, Int8Vectors) else None)

    def open(self, folder: Path, count: int, dim: int) -> StoredVectors:
        rows: NDArray[np.int8] = _open_rows(folder / "vectors", np.int8, count, dim)
        scales = _open_rows(folder / "scales", np.float32, 1, dim)[0]
        if not ((scales >= 0) & (scales <= MAX_SCALE)).all():
            raise SearchIndexError(f"{folder / 'scales'}: damaged: a scale is negative or not finite. {REMEDY}")
        return Int8Vectors(rows, scales)


PRECISIONS: Mapping[str, VectorPrecision] = {one.name: one for one in (Float32Precision(), Int8Precision())}


def require_finite(values: Vectors) -> Vectors:
    """Vectors of an index, or their products."""
    if not np.isfinite(values).all():
        raise SearchIndexError(f"a vector of the index is not finite: its file is damaged. {REMEDY}")
    return values


def _open_rows(path: Path, dtype: type, count: int, dim: int) -> NDArray:  # type: ignore[type-arg]
    values = open_memmap(path, dtype, REMEDY)
    if len(values) != count * dim:
        raise SearchIndexError(
            f"{path}: damaged: has {len(values):,} numbers; expected {count:,} vectors of {dim:,}. {REMEDY}"
        )
    return np.asarray(values).reshape(count, dim)
