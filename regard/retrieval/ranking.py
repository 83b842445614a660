"""Ranked documents: the best of many, and several rankings fused into one.

Documents have numbers here. Scores are float32, and equal ones are ordered by their ids, descending: as trec_eval
does it, so that a ranking that is written to a file has the same order there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Scores = NDArray[np.float32]
RRF_K = 60
"""The constant of reciprocal rank fusion, as Cormack et al. 2009 chose it."""
FUSION_DEPTH = 1000
"""The documents of each ranking that are fused."""


@dataclass(frozen=True)
class RankedDocuments:
    """Documents in order, the best one first, with their scores."""

    documents: Numbers
    scores: Scores


EMPTY = RankedDocuments(np.empty(0, np.int64), np.empty(0, np.float32))


def select_top(documents: Numbers, scores: Scores, depth: int, tie_ranks: NDArray[np.int32]) -> RankedDocuments:
    """The `depth` best documents in order; `tie_ranks` has the rank of each document's id among all ids, ascending."""
    if len(scores) > depth:
        smallest = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        chosen = np.flatnonzero(scores >= smallest)  # and all that tie with the last one
        documents, scores = documents[chosen], scores[chosen]
    order = np.lexsort((-tie_ranks[documents], -scores))[:depth]
    return RankedDocuments(documents[order], scores[order])


class TopDocuments:
    """The best documents of several queries, of which the scores come in blocks."""

    def __init__(self, num_queries: int, depth: int, tie_ranks: NDArray[np.int32]):
        self.rankings = [EMPTY] * num_queries
        self._depth, self._tie_ranks = depth, tie_ranks

    def add(self, documents: Numbers, scores: Scores) -> None:
        """Some more documents (n,), with their scores for each query (Q, n)."""
        for number, row in enumerate(scores):
            best = self.rankings[number]
            floor = best.scores[-1] if len(best.scores) == self._depth else -np.inf
            chosen = np.flatnonzero(row >= floor)
            self.rankings[number] = select_top(
                np.concatenate([best.documents, documents[chosen]]),
                np.concatenate([best.scores, row[chosen]]),
                self._depth,
                self._tie_ranks,
            )


def fuse_reciprocal_ranks(
    rankings: Sequence[RankedDocuments], depth: int, tie_ranks: NDArray[np.int32]
) -> RankedDocuments:
    """Reciprocal rank fusion: Σ 1 / (60 + rank) over rankings, ranks from 1 on.  Cormack et al. 2009."""
    documents = np.concatenate([one.documents for one in rankings])
    values = np.concatenate([1 / (RRF_K + np.arange(1, len(one.documents) + 1)) for one in rankings])
    fused, positions = np.unique(documents, return_inverse=True)
    sums = np.bincount(positions, values, len(fused)).astype(np.float32)
    return select_top(fused, sums, depth, tie_ranks)
