"""The passages of an index on disk: to which documents they belong, their characters, and their vectors."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from regard.data.store import is_ascending, open_memmap
from regard.errors import DataError, SearchIndexError
from regard.progress import stage
from regard.retrieval.dense.encoder import Encoder
from regard.retrieval.dense.passages import Span
from regard.retrieval.dense.vectors import (
    COPY_ROWS,
    StoredVectors,
    VectorPrecision,
    Vectors,
    VectorWriter,
    require_finite,
)
from regard.retrieval.index_folder import REMEDY
from regard.retrieval.ranking import Numbers

EMBEDDED_AT_ONCE = 128
"""Passages that the encoder gets together; it batches them by length."""


class StoredPassages:
    """The passages of every document."""

    def __init__(self, folder: Path, num_documents: int, num_passages: int, vectors: StoredVectors):
        self.starts = open_memmap(folder / "starts", np.int64, REMEDY)
        self._spans = open_memmap(folder / "spans", np.int32, REMEDY)
        self.vectors = vectors
        if (
            len(self.starts) != num_documents + 1
            or self.starts[0]
            or self.starts[-1] != num_passages
            or not is_ascending(self.starts)
            or len(self._spans) != 2 * num_passages
        ):
            raise SearchIndexError(f"{folder}: damaged: its files do not fit each other. {REMEDY}")

    def span(self, row: int) -> Span:
        """The characters of a passage."""
        begin, end = self._spans[2 * row : 2 * row + 2]
        return int(begin), int(end)

    def spans(self, rows: Numbers) -> Numbers:
        """The characters of passages: (n, 2)."""
        return np.asarray(self._spans.reshape(-1, 2)[rows], np.int64)

    def rows(self, documents: Numbers) -> Numbers:
        """The numbers of the passages of documents, one after the other."""
        starts, counts = self.starts[documents], self.count(documents)
        offsets = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        return np.asarray(offsets + np.arange(counts.sum()))

    def count(self, documents: Numbers) -> Numbers:
        """How many passages each of the documents has."""
        return np.asarray(self.starts[documents + 1] - self.starts[documents])

    def documents_of(self, rows: Numbers) -> Numbers:
        """The documents that passages belong to."""
        return np.searchsorted(self.starts, rows, side="right") - 1

    def blocks(self, max_rows: int) -> Iterator[tuple[Numbers, Numbers, int]]:
        """Documents that have passages, the first passage of each, and where the last one of the block ends.

        A block has at most `max_rows` passages, or a single document.
        """
        documents = np.flatnonzero(np.diff(self.starts))
        starts, ends = self.starts[documents], self.starts[documents + 1]
        begin = 0
        while begin < len(documents):
            end = max(begin + 1, int(np.searchsorted(ends, starts[begin] + max_rows, side="right")))
            yield documents[begin:end], starts[begin:end], int(ends[end - 1])
            begin = end


class PassageWriter:
    """Appends the passages of documents, in their order, to a new index."""

    def __init__(self, folder: Path, writer: VectorWriter):
        self._folder, self._writer = folder, writer
        self._counts: list[Numbers] = []
        (folder / "spans").touch()
        self.dim: int | None = None

    def add(self, counts: Sequence[int] | Numbers, spans: Sequence[Span] | Numbers, vectors: Vectors) -> None:
        """Documents with their numbers of passages, and the characters and vectors of all of these."""
        self._counts.append(np.asarray(counts, np.int64))
        with (self._folder / "spans").open("ab") as file:
            file.write(np.asarray(spans, np.int32).tobytes())
        if len(vectors):
            self._require_dim(vectors.shape[1])
            self._writer.add(vectors)

    def _require_dim(self, dim: int) -> None:
        if self.dim is None:
            self.dim = dim
        if self.dim != dim:
            raise SearchIndexError(
                f"the vectors of the index have {self.dim:,} numbers, those of its encoder {dim:,}: its files are "
                f"damaged. {REMEDY}"
            )

    def finish(self) -> Numbers:
        """Where the passages of each document begin."""
        self._writer.finish()
        starts = np.concatenate([[0], np.cumsum(np.concatenate([[], *self._counts]))]).astype(np.int64)
        (self._folder / "starts").write_bytes(starts.tobytes())
        return starts


def write_passages(
    folder: Path,
    contents: Sequence[str],
    encoder: Encoder | None,
    max_passages: int,
    precision: VectorPrecision,
    old: StoredPassages | None,
    retained: Numbers,
) -> tuple[Numbers, int]:
    """Copy the passages of retained documents, and embed those of new ones; where they start, and their dimension."""
    folder.mkdir()
    writer = PassageWriter(folder, precision.create(folder, None if old is None else old.vectors))
    if old is not None:
        for begin in range(0, len(retained), COPY_ROWS):
            documents = retained[begin : begin + COPY_ROWS]
            rows = old.rows(documents)
            writer.add(old.count(documents), old.spans(rows), require_finite(old.vectors.decode(rows)))
    if encoder is not None:
        _embed(contents, encoder, max_passages, writer)
    starts = writer.finish()
    if writer.dim is None:
        raise DataError("no document has any text, so there is nothing to search for")
    return starts, writer.dim


def _embed(contents: Sequence[str], encoder: Encoder, max_passages: int, writer: PassageWriter) -> None:
    counts, spans, texts = list[int](), list[Span](), list[str]()
    with stage("embedding documents", len(contents)) as current:
        for number, content in enumerate(contents):
            passages = encoder.split(content)[: max_passages or None]
            counts.append(len(passages))
            spans += passages
            texts += [content[begin:end] for begin, end in passages]
            if len(texts) >= EMBEDDED_AT_ONCE or number == len(contents) - 1:
                writer.add(counts, spans, embed_finite(encoder, texts))
                current.advance(len(counts))
                counts, spans, texts = [], [], []


def embed_finite(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """The vectors of texts; those of an encoder whose weights overflow are refused."""
    vectors = encoder.embed(texts) if texts else np.empty((0, 0), np.float32)
    if not np.isfinite(vectors).all():
        raise DataError(f"{encoder.identity.run}: a vector is not finite: its weights overflow. Use another encoder.")
    return np.asarray(vectors, np.float32)
