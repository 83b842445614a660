"""Where the positive of each text stands among all candidates, nearest first, and the scores of such ranks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from regard.metrics.intervals import FloatArray, ratio_score
from regard.metrics.score import Score
from regard.metrics.vectors.correlation import IntArray

MAX_ELEMENTS = 1 << 22
"""Similarities that are in memory at a time."""
TIE = 1e-6
"""Cosines that are equal but for rounding."""


def to_array(matrix: Any) -> FloatArray:
    """A dense or sparse matrix, or a tensor on the CPU, as an array."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, np.float64)


def cosines_of_rows(first: Any, second: Any) -> FloatArray:
    """The cosine of each row of one matrix with that of the other, both of length 1: (N, D), (N, D) -> (N,)."""
    is_sparse = hasattr(first, "toarray")
    products = first.multiply(second) if is_sparse else first * second
    return np.asarray(products.sum(1), np.float64).ravel()


class Retrieved(NamedTuple):
    """The ranks of positives."""

    ranks: IntArray
    """From 1 on. A candidate that is as near as the positive comes before it, so that vectors that are all the same
    find nothing."""
    nearest: IntArray
    """The nearest candidate that is not the positive."""


def find_positives(texts: Any, candidates: Any, positives: IntArray, excluded: Sequence[Sequence[int]]) -> Retrieved:
    """Rank the candidates of each text by cosine: vectors (N, D) and (C, D), dense or sparse, of length 1.

    `positives` is the candidate of each text, `excluded` are candidates that are neither right nor wrong for it.
    """
    size = max(1, MAX_ELEMENTS // candidates.shape[0])
    ranks, nearest = np.empty(len(positives), np.int64), np.empty(len(positives), np.int64)
    for start in range(0, len(positives), size):
        chunk = slice(start, start + size)
        similarities = to_array(texts[chunk] @ candidates.T)
        rows = np.arange(len(similarities))
        own = similarities[rows, positives[chunk]]
        similarities[rows, positives[chunk]] = -np.inf
        for row, columns in zip(rows, excluded[chunk], strict=True):
            similarities[row, list(columns)] = -np.inf
        ranks[chunk] = 1 + (similarities >= own[:, None] - TIE).sum(axis=1)
        nearest[chunk] = similarities.argmax(axis=1)
    return Retrieved(ranks, nearest)


def reciprocal(ranks: IntArray) -> FloatArray:
    """1 / rank."""
    return np.asarray(1 / ranks, np.float64)


def mean_of_sums(sums: FloatArray) -> FloatArray:
    """The mean of values from their sum and their number: (…, 2) -> (…)."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def score_ranks(ranks: IntArray, num_candidates: int) -> dict[str, Score]:
    """The mean reciprocal rank, and the share of positives that are first and among the first ten, in percent."""
    ones, signature = [1.0] * len(ranks), f"unit:pair|n:{len(ranks)}|candidates:{num_candidates}|ties:against"
    return {
        "mrr": ratio_score("MRR", reciprocal(ranks).tolist(), ones, signature),
        "accuracy": ratio_score("accuracy@1", (ranks == 1).astype(float).tolist(), ones, signature),
        "recall_10": ratio_score("recall@10", (ranks <= 10).astype(float).tolist(), ones, signature),
    }
