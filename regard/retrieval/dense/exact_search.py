"""The nearest documents by inner products with all vectors, in blocks: memory does not grow with their number."""

from collections.abc import Iterator

import numpy as np

from regard.retrieval.dense.stored_passages import StoredPassages
from regard.retrieval.dense.vectors import Vectors, require_finite
from regard.retrieval.ranking import Numbers, RankedDocuments, TopDocuments

MAX_BLOCK_NUMBERS = 1 << 22
"""Of a block of vectors, and of its scores: 16 MB in float32."""


class ExactSearch:
    """Inner products with every vector; a document has the score of its best passage."""

    def __init__(self, passages: StoredPassages, tie_ranks: "np.ndarray[tuple[int], np.dtype[np.int32]]"):
        self._passages, self._tie_ranks = passages, tie_ranks

    def search(self, queries: Vectors, depth: int) -> list[RankedDocuments]:
        """The best documents of each query (Q, D)."""
        top = TopDocuments(len(queries), depth, self._tie_ranks)
        for documents, scores in self._score_blocks(queries):
            top.add(documents, scores)
        return top.rankings

    def _score_blocks(self, queries: Vectors) -> Iterator[tuple[Numbers, Vectors]]:
        """Documents (n,) with their scores (Q, n), a block at a time; documents without a passage are left out."""
        vectors = self._passages.vectors
        prepared = vectors.prepare(queries)
        rows = max(1, MAX_BLOCK_NUMBERS // max(queries.shape[1], len(queries)))
        for documents, starts, end in self._passages.blocks(rows):
            with np.errstate(over="ignore", invalid="ignore"):
                scores = require_finite(prepared @ vectors.block(int(starts[0]), end).T)  # (Q, passages)
            yield documents, np.maximum.reduceat(scores, starts - starts[0], axis=1)
