"""The inverted index of documents, written in blocks: of new documents, and of those that an older index has.

Memory holds the distinct terms and one block of postings, however many documents there are. The files depend on the
documents and their order alone: an index to which documents were added equals one that was made of all of them.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from regard.data.store import RaggedWriter
from regard.retrieval.lexical.bm25 import InvertedIndex
from regard.retrieval.ranking import Numbers

BLOCK = 1 << 20
"""Postings that are in memory at a time."""
MAX_ROWS = 1 << 17
"""Postings of new documents before they are written; as objects of Python they are larger."""
Block = tuple[Numbers, Numbers, Numbers]
"""Terms, documents and counts of postings; the documents of a term come in ascending order."""


class PostingSource(Protocol):
    """Postings that can be read more than once."""

    frequencies: Numbers
    """The number of documents of each term."""

    def sorted_terms(self) -> Iterator[tuple[str, int]]:
        """The terms that any document has, in order, with their numbers."""
        ...

    def blocks(self) -> Iterator[Block]: ...


class KeptPostings:
    """The postings of an older index for the documents that are retained."""

    def __init__(self, index: InvertedIndex, retained: Numbers):
        self._index = index
        self._new_numbers = np.full(len(index.lengths), -1, np.int64)
        self._new_numbers[retained] = np.arange(len(retained))
        self.frequencies = _count_terms(self.blocks(), len(index.terms))

    def sorted_terms(self) -> Iterator[tuple[str, int]]:
        return ((self._index.terms[number], int(number)) for number in np.flatnonzero(self.frequencies))

    def blocks(self) -> Iterator[Block]:
        size = len(self._index.postings.values)
        for begin in range(0, size, BLOCK):
            end = min(begin + BLOCK, size)
            terms, documents, counts = self._index.read_block(begin, end)
            documents = self._new_numbers[documents]
            retained = documents >= 0
            yield terms[retained], documents[retained], counts[retained]


class NewPostings:
    """The postings of new documents, in a file of their own until they are merged."""

    def __init__(self, path: Path, documents: Iterable[Sequence[str]], first_number: int):
        self._path = path
        self._numbers: dict[str, int] = {}
        lengths: list[int] = []
        rows: list[tuple[int, int, int]] = []
        with path.open("wb") as file:
            for number, terms in enumerate(documents, start=first_number):
                lengths.append(len(terms))
                rows += [
                    (self._numbers.setdefault(term, len(self._numbers)), number, count)
                    for term, count in Counter(terms).items()
                ]
                if len(rows) >= MAX_ROWS:
                    file.write(np.array(rows, np.int32).tobytes())
                    rows = []
            file.write(np.array(rows, np.int32).tobytes())
        self.lengths = np.array(lengths, np.int32)
        self.frequencies = _count_terms(self.blocks(), len(self._numbers))

    def sorted_terms(self) -> Iterator[tuple[str, int]]:
        return iter(sorted(self._numbers.items()))

    def blocks(self) -> Iterator[Block]:
        with self._path.open("rb") as file:
            while len(flat := np.fromfile(file, np.int32, 3 * BLOCK)):
                rows = flat.reshape(-1, 3).astype(np.int64)
                yield rows[:, 0], rows[:, 1], rows[:, 2]


def write_inverted_index(
    folder: Path, new_documents: Iterable[Sequence[str]], old: InvertedIndex | None, retained: Numbers
) -> None:
    """Write the terms of documents: of those that an older index has and that are retained, then of new ones."""
    folder.mkdir()
    spill = folder / "new.tmp"
    new = NewPostings(spill, new_documents, len(retained))
    sources: list[PostingSource] = [new] if old is None else [KeptPostings(old, retained), new]
    old_lengths = np.empty(0, np.int32) if old is None else old.lengths[retained]
    (folder / "lengths").write_bytes(np.concatenate([old_lengths, new.lengths]).astype(np.int32).tobytes())
    _write_postings(folder, sources, *_merge_terms(folder, sources))
    spill.unlink()


def _merge_terms(folder: Path, sources: Sequence[PostingSource]) -> tuple[list[Numbers], Numbers]:
    """Write all terms in order; the number there of each term of each source, and how many documents have it."""
    numbers = [np.full(len(source.frequencies), -1, np.int64) for source in sources]
    streams = [_label_terms(source, which) for which, source in enumerate(sources)]
    with RaggedWriter(folder, "terms", "text", "offsets") as writer:
        for term, group in itertools.groupby(heapq.merge(*streams), key=itemgetter(0)):
            for _, which, number in group:
                numbers[which][number] = writer.num_rows
            writer.add(term.encode("utf-8"))
    frequencies = np.zeros(writer.num_rows, np.int64)
    for source, merged in zip(sources, numbers, strict=True):
        used = merged >= 0
        frequencies[merged[used]] += source.frequencies[used]
    return numbers, frequencies


def _label_terms(source: PostingSource, which: int) -> Iterator[tuple[str, int, int]]:
    return ((term, which, number) for term, number in source.sorted_terms())


def _write_postings(
    folder: Path, sources: Sequence[PostingSource], numbers: Sequence[Numbers], frequencies: Numbers
) -> None:
    """A counting sort by term: every posting is written to its place."""
    starts = np.concatenate([[0], np.cumsum(frequencies)]).astype(np.int64)
    (folder / "postings.starts").write_bytes(starts.tobytes())
    documents, counts = (
        _create_array(folder / f"postings.{name}", int(starts[-1])) for name in ("documents", "counts")
    )
    free = starts[:-1].copy()
    for source, merged in zip(sources, numbers, strict=True):
        for terms, block_documents, block_counts in source.blocks():
            order = np.argsort(merged[terms], kind="stable")
            places = _place(merged[terms][order], free)
            documents[places] = block_documents[order]
            counts[places] = block_counts[order]


def _place(terms: Numbers, free: Numbers) -> Numbers:
    """The next free places of sorted terms, which are free no more."""
    _, firsts, sizes = np.unique(terms, return_index=True, return_counts=True)
    ranks = np.arange(len(terms)) - np.repeat(firsts, sizes)
    places = free[terms] + ranks
    free[terms[firsts]] += sizes
    return np.asarray(places)


def _create_array(path: Path, size: int) -> NDArray[np.int32]:
    if not size:  # an empty file cannot be mapped
        path.touch()
        return np.empty(0, np.int32)
    return np.memmap(path, np.int32, "w+", shape=(size,))


def _count_terms(blocks: Iterable[Block], num_terms: int) -> Numbers:
    """The number of documents of each term."""
    frequencies = np.zeros(num_terms, np.int64)
    for terms, _, _ in blocks:
        frequencies += np.bincount(terms, minlength=num_terms)
    return frequencies
