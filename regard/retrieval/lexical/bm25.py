"""BM25 over an inverted index on disk, memory-mapped.

    bm25/terms.text, .offsets       all terms, sorted by their UTF-8
    bm25/postings.documents         the documents of each term, ascending (int32)
    bm25/postings.starts            where the postings of each term begin (int64)
    bm25/postings.counts            how often each document has the term (int32)
    bm25/lengths                    the terms of each document (int32)

The weights of terms are computed at query time: adding or deleting a document changes all of them.
"""

import bisect
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.store import RaggedArray, Texts, open_memmap
from regard.errors import SearchIndexError
from regard.retrieval.index_folder import REMEDY
from regard.retrieval.ranking import Numbers, RankedDocuments, select_top

FloatArray = NDArray[np.float64]
K1, B = 1.2, 0.75
"""Lucene's defaults."""
SIGNATURE = f"bm25:lucene|k1:{K1}|b:{B}"


def inverse_document_frequency(document_frequency: int, num_documents: int) -> float:
    """ln(1 + (N - n + 1/2) / (n + 1/2)), which is never negative: Lucene's."""
    return float(np.log1p((num_documents - document_frequency + 0.5) / (document_frequency + 0.5)))


def term_weight(counts: FloatArray, relative_lengths: FloatArray) -> FloatArray:
    """tf / (tf + k1 (1 - b + b · length / mean length)).  Robertson et al. 1994."""
    return counts / (counts + K1 * (1 - B + B * relative_lengths))


class InvertedIndex:
    """The documents of every term."""

    def __init__(self, folder: Path, num_documents: int):
        self._folder = folder
        self.postings = RaggedArray(folder / "postings.documents", folder / "postings.starts", np.int32, REMEDY)
        self.terms = Texts(folder, "terms", REMEDY, len(self.postings))
        self.counts = open_memmap(folder / "postings.counts", np.int32, REMEDY)
        self.lengths = open_memmap(folder / "lengths", np.int32, REMEDY)
        sizes = (len(self.counts), len(self.lengths))
        if sizes != (len(self.postings.values), num_documents) or (self.lengths < 0).any():
            raise SearchIndexError(f"{folder}: damaged: its files do not fit each other. {REMEDY}")
        self._mean_length = float(self.lengths.mean()) or 1.0

    def score(self, terms: Sequence[str]) -> FloatArray:
        """The score of every document for a query: Σ over its terms; 0 for a document that has none of them."""
        num_documents = len(self.lengths)
        scores = np.zeros(num_documents)
        for term, count in Counter(terms).items():
            number = bisect.bisect_left(self.terms, term)
            if number == len(self.terms) or self.terms[number] != term:
                continue
            documents, counts = self._read_postings(number)
            relative_lengths = self.lengths[documents] / self._mean_length
            weight = count * inverse_document_frequency(len(documents), num_documents)
            scores[documents] += weight * term_weight(counts.astype(np.float64), relative_lengths)
        return scores

    def search(self, terms: Sequence[str], depth: int, tie_ranks: NDArray[np.int32]) -> RankedDocuments:
        """The best documents among those that have a term of the query."""
        scores = self.score(terms).astype(np.float32)
        documents = np.flatnonzero(scores)
        return select_top(documents, scores[documents], depth, tie_ranks)

    def read_block(self, begin: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """Consecutive postings: their terms, documents and counts."""
        terms = np.searchsorted(self.postings.starts, np.arange(begin, end), side="right") - 1
        documents, counts = self.postings.values[begin:end], self.counts[begin:end]
        self._require_postings(documents, counts, (terms[1:] != terms[:-1]))
        return terms, documents.astype(np.int64), counts.astype(np.int64)

    def _read_postings(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        begin, end = self.postings.starts[number : number + 2]
        documents, counts = self.postings.values[begin:end], self.counts[begin:end]
        self._require_postings(documents, counts, np.zeros(max(0, len(counts) - 1), bool))
        return documents, counts

    def _require_postings(
        self, documents: NDArray[np.int32], counts: NDArray[np.int32], is_next_term: NDArray[np.bool_]
    ) -> None:
        """Refuse documents that do not exist or are not ascending in their term, and counts that are none."""
        if (
            not len(documents)
            or documents.min() < 0
            or documents.max() >= len(self.lengths)
            or counts.min() < 1
            or not ((documents[1:] > documents[:-1]) | is_next_term).all()
        ):
            raise SearchIndexError(f"{self._folder}: damaged: its postings name documents wrongly. {REMEDY}")
