"""The documents of an index on disk: ids, titles and texts, memory-mapped; and their order by id."""

import bisect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.store import RaggedWriter, Texts, open_memmap
from regard.errors import DataError, SearchIndexError
from regard.formats.retrieval import SearchDocument
from regard.retrieval.index_folder import REMEDY
from regard.retrieval.ranking import Numbers

COLUMNS = ("ids", "titles", "texts")
MAX_LISTED = 5


class DocumentStore(Sequence[SearchDocument]):
    """Documents by their numbers."""

    def __init__(self, folder: Path, num_documents: int):
        self._columns = [Texts(folder, name, REMEDY, num_documents) for name in COLUMNS]
        self.ids, self.titles, self.texts = self._columns
        order = open_memmap(folder / "order", np.int32, REMEDY)
        if len(order) != num_documents:
            raise SearchIndexError(f"{folder}: damaged: its files do not fit each other. {REMEDY}")
        self.tie_ranks = _invert(order, folder)
        """The rank of each document's id among all ids, from the smallest one on."""
        self._sorted_ids = _SortedIds(self.ids, order)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> SearchDocument:  # type: ignore[override]
        return SearchDocument(self.ids[number], self.titles[number], self.texts[number])

    def find(self, identifier: str) -> int | None:
        """The number of a document by its id; None if there is none."""
        rank = bisect.bisect_left(self._sorted_ids, identifier)
        if rank == len(self) or self._sorted_ids[rank] != identifier:
            return None
        return self._sorted_ids.numbers[rank]

    def contents(self, first: int) -> "Contents":
        """What is searched of the documents from a number on."""
        return Contents(self, first)

    def encoded(self, number: int) -> list[bytes]:
        """The columns of a document as they are on disk."""
        return [column.encoded(number) for column in self._columns]


class Contents(Sequence[str]):
    """Titles and texts of documents, read when they are used."""

    def __init__(self, store: DocumentStore, first: int):
        self._store, self._first = store, first

    def __len__(self) -> int:
        return len(self._store) - self._first

    def __getitem__(self, number: int) -> str:  # type: ignore[override]
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._store[self._first + number].content


class _SortedIds(Sequence[str]):
    """The ids in order, without a copy of them."""

    def __init__(self, ids: Texts, numbers: NDArray[np.int32]):
        self._ids = ids
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rank: int) -> str:  # type: ignore[override]
        return str(self._ids[int(self.numbers[rank])])


def write_documents(
    folder: Path, new_documents: Iterable[SearchDocument], old: DocumentStore | None, retained: Numbers
) -> int:
    """Write the documents that are retained and new ones; how many there are. An id that occurs twice is an error."""
    folder.mkdir()
    ids: list[str] = []
    with ExitStack() as stack:
        writers = [stack.enter_context(RaggedWriter(folder, name, "text", "offsets")) for name in COLUMNS]
        if old is not None:
            for number in retained:
                ids.append(old.ids[number])
                _add_row(writers, old.encoded(number))
        for document in _require_unique(new_documents, set(ids)):
            ids.append(document.id)
            _add_row(writers, [part.encode("utf-8") for part in (document.id, document.title, document.text)])
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int32)
    (folder / "order").write_bytes(order.tobytes())
    return len(ids)


def list_ids(identifiers: Sequence[str]) -> str:
    """The first ids of many, for a message."""
    listed = ", ".join(map(repr, identifiers[:MAX_LISTED]))
    return f"{listed} and {len(identifiers) - MAX_LISTED:,} more" if len(identifiers) > MAX_LISTED else listed


def _add_row(writers: Sequence[RaggedWriter], row: Sequence[bytes]) -> None:
    for writer, part in zip(writers, row, strict=True):
        writer.add(part)


def _require_unique(documents: Iterable[SearchDocument], known: set[str]) -> Iterator[SearchDocument]:
    new: set[str] = set()
    for document in documents:
        if document.id in known:
            raise DataError(
                f"{document.location}: the index already holds a document with the id {document.id!r}. Replace it with "
                f"--replace, or choose another id."
            )
        if document.id in new:
            raise DataError(
                f"{document.location}: another document before has the id {document.id!r}, too; every document needs "
                f"an id of its own"
            )
        new.add(document.id)
        yield document


def _invert(order: NDArray[np.int32], folder: Path) -> NDArray[np.int32]:
    """The place of each number in an order of all of them."""
    ranks = np.full(len(order), -1, np.int32)
    if len(order) and (order.min() < 0 or order.max() >= len(order)):
        raise SearchIndexError(f"{folder / 'order'}: damaged: it names documents that do not exist. {REMEDY}")
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks
