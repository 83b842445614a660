"""Scores of one ranked list, as trec_eval defines them.

Documents are ranked by their scores, which are float32, and equal ones by their ids in descending order. A document
without a judgment counts as one of grade 0, and so does a negative grade. A grade of 1 or more is relevant.
"""

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Grades = NDArray[np.int64]
RankedList = Mapping[str, float]
"""The scores of the documents that a system returns for one query."""
Judgments = Mapping[str, Mapping[str, int]]
"""Query -> document -> grade."""
RetrievalMeasure = Callable[[Grades, Grades], float]
"""The grades of a ranking, the first document first, and of all judged documents -> a score from 0 to 1."""
MIN_RELEVANT = 1


def rank_documents(scores: RankedList) -> list[str]:
    """The documents in their order: the highest score first; of equal ones the last id, by its code points."""
    ids = sorted(scores, reverse=True)
    with np.errstate(over="ignore"):
        values = np.array([scores[one] for one in ids], dtype=np.float64).astype(np.float32)
    return [ids[i] for i in np.argsort(-values, kind="stable")]


def ranked_grades(scores: RankedList, grades: Mapping[str, int]) -> Grades:
    """The grade of each document of a ranking, the first one first."""
    return np.array([grades.get(document, 0) for document in rank_documents(scores)], dtype=np.int64)


def ndcg(ranked: Grades, judged: Grades, cut: int) -> float:
    """Σ gain / log2(rank + 1) over the first documents, divided by that of the best ranking of all judged ones.

    The gain is the grade, without an exponent.  Järvelin and Kekäläinen 2002.
    """
    best = _discounted_gain(np.sort(judged)[::-1][:cut])
    return _discounted_gain(ranked[:cut]) / best if best else 0.0


def average_precision(ranked: Grades, judged: Grades) -> float:
    """The mean over all relevant documents of the precision at the rank of each; 0 where one is not returned."""
    ranks = 1 + np.flatnonzero(ranked >= MIN_RELEVANT)
    return float((np.arange(1, len(ranks) + 1) / ranks).sum()) / max(1, _count_relevant(judged))


def reciprocal_rank(ranked: Grades, judged: Grades) -> float:
    """1 / rank of the first relevant document."""
    relevant = np.flatnonzero(ranked >= MIN_RELEVANT)
    return 1 / (1 + int(relevant[0])) if relevant.size else 0.0


def recall(ranked: Grades, judged: Grades, cut: int) -> float:
    """The share of the relevant documents that are among the first ones."""
    return _count_relevant(ranked[:cut]) / max(1, _count_relevant(judged))


def precision(ranked: Grades, judged: Grades, cut: int) -> float:
    """The share of relevant documents among the first ones, of which there are `cut` even if fewer are returned."""
    return _count_relevant(ranked[:cut]) / cut


RETRIEVAL_MEASURES: Mapping[str, tuple[str, RetrievalMeasure]] = {
    "ndcg_10": ("nDCG@10", functools.partial(ndcg, cut=10)),
    "ap": ("AP", average_precision),
    "rr": ("RR", reciprocal_rank),
    "recall_100": ("recall@100", functools.partial(recall, cut=100)),
    "p_10": ("P@10", functools.partial(precision, cut=10)),
}
"""Each with its name, in the order in which they are shown; all are multiplied by 100."""


def _discounted_gain(grades: Grades | Sequence[int]) -> float:
    gains = np.maximum(grades, 0)
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def _count_relevant(grades: Grades) -> int:
    return int(np.count_nonzero(grades >= MIN_RELEVANT))
