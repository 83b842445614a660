"""A corpus on disk, memory-mapped: UTF-8 text with offsets, and token ids.

Memory use is the same for thirty thousand pairs and thirty million, and a resumed run starts at once.

    store/train.source.text     the sentences, one after the other
    store/train.source.offsets  where each sentence begins (int64, one more than there are sentences)
    store/train.source.ids      the token ids, one sentence after the other (uint16 or int32)
    store/train.source.starts   where the ids of each sentence begin
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.tokenizers.tokenizer import Tokenizers
from regard.errors import DataError
from regard.files import open_regular
from regard.formats import Pair
from regard.progress import stage

CHUNK = 10_000
BLOCK = 1 << 20
SIDES = ("source", "target")
REMEDY = "Train again with --overwrite."
"""What to do about a damaged corpus."""
MAX_ROWS = 2**30
"""More is no corpus, but a file of nothing that would take minutes to check."""
Array = np.ndarray[Any, np.dtype[Any]]
IdRow = tuple[Sequence[int], Sequence[int]]
"""The ids of an example: of its input, and of its target."""


class RaggedArray:
    """Rows of different lengths in one flat memory-mapped array."""

    def __init__(self, values: Path, starts: Path, dtype: Any, remedy: str = REMEDY, num_rows: int | None = None):
        """`num_rows` is how many there must be, where that is known."""
        self.starts = open_memmap(starts, np.int64, remedy)
        self.values = open_memmap(values, dtype, remedy)
        if (
            not 1 <= len(self.starts) <= MAX_ROWS
            or num_rows not in (None, len(self))
            or self.starts[0]
            or self.starts[-1] != len(self.values)
            or not is_ascending(self.starts)
        ):
            raise DataError(f"{values}: half written or damaged. {remedy}")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> Array:
        return self.values[self.starts[row] : self.starts[row + 1]]

    def require_below(self, limit: int, path: Path) -> None:
        """Refuse values that are not below a limit, such as ids that no vocabulary has; a block at a time."""
        for begin in range(0, len(self.values), BLOCK):
            block = self.values[begin : begin + BLOCK]
            if block.max() >= limit or block.min() < 0:
                raise DataError(f"{path}: damaged: it holds an id beyond the vocabulary. Train again with --overwrite.")

    def lengths(self, rows: Array) -> Array:
        return np.asarray(self.starts[rows + 1] - self.starts[rows])


class Texts(Sequence[str]):
    """Sentences on disk."""

    def __init__(self, folder: Path, name: str, remedy: str = REMEDY, num_rows: int | None = None):
        self._path, self._remedy = folder / f"{name}.text", remedy
        self._bytes = RaggedArray(self._path, folder / f"{name}.offsets", np.uint8, remedy, num_rows)

    def __len__(self) -> int:
        return len(self._bytes)

    @property
    def num_bytes(self) -> int:
        """Size of the text in bytes."""
        return len(self._bytes.values)

    def encoded(self, row: int) -> bytes:
        """A sentence as it is on disk."""
        return self._bytes[row].tobytes()

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        try:
            return self.encoded(row).decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{self._path}: damaged: text {row} is not UTF-8. {self._remedy}") from None


@dataclass(frozen=True)
class Corpus:
    """One split: the texts of its pairs and their token ids."""

    source: Texts
    target: Texts
    source_ids: RaggedArray
    target_ids: RaggedArray

    def __len__(self) -> int:
        return len(self.source)

    def pairs(self, limit: int | None = None) -> list[Pair]:
        """The pairs as strings, or the first `limit` of them."""
        count = len(self) if limit is None else min(limit, len(self))
        return [Pair(self.source[i], self.target[i]) for i in range(count)]


def write_texts(folder: Path, name: str, pairs: Iterable[Pair]) -> int:
    """Write the texts of a split from a stream; returns the number of pairs."""
    return write_sets(folder, (name,), ((name, pair) for pair in pairs))[name]


def write_sets(folder: Path, names: Sequence[str], pairs: Iterable[tuple[str, Pair]]) -> dict[str, int]:
    """As write_texts for several splits at once: every pair comes with the name of its split."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        writers = {
            name: [stack.enter_context(RaggedWriter(folder, f"{name}.{side}", "text", "offsets")) for side in SIDES]
            for name in names
        }
        for name, pair in pairs:
            source, target = writers[name]
            source.add(pair.source.encode("utf-8"))
            target.add(pair.target.encode("utf-8"))
    return {name: source.num_rows for name, (source, _) in writers.items()}


def write_rows(folder: Path, name: str, rows: Iterable[IdRow], vocab_sizes: tuple[int, int]) -> None:
    """Write the ids of a split: for each example those of its input and of its target."""
    with ExitStack() as stack:
        dtypes = [_id_dtype(size) for size in vocab_sizes]
        writers = [
            stack.enter_context(RaggedWriter(folder, f"{name}.{side}", "ids", "starts", dtype))
            for side, dtype in zip(SIDES, dtypes, strict=True)
        ]
        for row in rows:
            for writer, ids, dtype in zip(writers, row, dtypes, strict=True):
                writer.add(np.asarray(ids, dtype=dtype).tobytes())


def write_ids(folder: Path, name: str, tokenizers: Tokenizers) -> None:
    """Tokenize the texts of a split, a chunk at a time, in as many threads as there are cores."""
    for side, tokenizer in zip(SIDES, (tokenizers.source, tokenizers.target), strict=True):
        dtype = _id_dtype(tokenizer.vocab_size)
        texts = Texts(folder, f"{name}.{side}")
        with (
            RaggedWriter(folder, f"{name}.{side}", "ids", "starts", dtype) as writer,
            stage(f"encoding {name}.{side}", len(texts)) as current,
        ):
            for chunk in chunks(texts, CHUNK):
                for ids in tokenizer.encode(chunk):
                    writer.add(np.asarray(ids, dtype=dtype).tobytes())
                current.advance(len(chunk))


def open_corpus(folder: Path, name: str, tokenizers: Tokenizers) -> Corpus:
    """A split that `write_sets` and `write_ids` have written."""
    return open_rows(folder, name, (tokenizers.source.vocab_size, tokenizers.target.vocab_size))


def open_rows(folder: Path, name: str, vocab_sizes: tuple[int, int]) -> Corpus:
    """A split that `write_sets` and `write_rows` have written."""
    source, target = Texts(folder, f"{name}.source"), Texts(folder, f"{name}.target")
    corpus = Corpus(source, target, *open_ids(folder, name, vocab_sizes, len(source)))
    if len(target) != len(source):
        raise DataError(f"{folder / name}: its files have different numbers of rows. {REMEDY}")
    return corpus


def open_ids(folder: Path, name: str, vocab_sizes: tuple[int, int], num_rows: int) -> tuple[RaggedArray, RaggedArray]:
    """The ids of both sides that `write_rows` has written."""
    source, target = (
        RaggedArray(folder / f"{name}.{side}.ids", folder / f"{name}.{side}.starts", _id_dtype(size))
        for side, size in zip(SIDES, vocab_sizes, strict=True)
    )
    for rows, side, size in zip((source, target), SIDES, vocab_sizes, strict=True):
        if len(rows) != num_rows:
            raise DataError(f"{folder / name}: its files have different numbers of rows. {REMEDY}")
        rows.require_below(size, folder / f"{name}.{side}.ids")
    return source, target


def chunks(items: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of up to `size` items."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


class RaggedWriter:
    """Appends rows to a file of values and records where each begins."""

    def __init__(self, folder: Path, name: str, values: str, starts: str, dtype: Any = np.uint8):
        self.num_rows = 0
        self._itemsize = np.dtype(dtype).itemsize
        self._end = 0
        self._pack = struct.Struct("=q").pack  # int64, as numpy writes it here
        self._values = (folder / f"{name}.{values}").open("wb")
        self._starts = (folder / f"{name}.{starts}").open("wb")
        self._starts.write(self._pack(0))

    def __enter__(self) -> "RaggedWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._values.close()
        self._starts.close()

    def add(self, row: bytes) -> None:
        self._values.write(row)
        self._end += len(row) // self._itemsize
        self._starts.write(self._pack(self._end))
        self.num_rows += 1


def _id_dtype(vocab_size: int) -> Any:
    return np.uint16 if vocab_size <= 2**16 else np.int32


def is_ascending(values: Array) -> bool:
    """Whether no number is smaller than the one before it; a block at a time."""
    blocks = (values[begin : begin + BLOCK + 1] for begin in range(0, len(values), BLOCK))
    return all(bool((block[1:] >= block[:-1]).all()) for block in blocks)


def open_memmap(path: Path, dtype: Any, remedy: str = REMEDY) -> Array:
    """The numbers of a file, which are read when they are used."""
    try:
        open_regular(path).close()
        if not path.stat().st_size:  # an empty file cannot be mapped
            return np.empty(0, dtype)
        return np.memmap(path, dtype=dtype, mode="r").view(np.ndarray)  # a plain array, whose rows are faster to slice
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}). {remedy}") from None
