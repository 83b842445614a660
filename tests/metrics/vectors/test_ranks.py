"""The rank of a positive is one more than the number of candidates that are at least as near."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from regard.metrics.vectors import cosines_of_rows, find_positives, ranks, score_ranks


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


RNG = np.random.default_rng(3)
TEXTS, CANDIDATES = unit(RNG.normal(size=(17, 5))), unit(RNG.normal(size=(23, 5)))
POSITIVES = RNG.integers(0, 23, 17)
EXCLUDED = [[int(i) for i in RNG.integers(0, 23, n % 3) if i != POSITIVES[n]] for n in range(17)]


@pytest.mark.parametrize("max_elements", [1, 60, 1 << 22])
def test_ranks_are_counted_one_by_one(max_elements: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ranks, "MAX_ELEMENTS", max_elements)
    retrieved = find_positives(TEXTS, CANDIDATES, POSITIVES, EXCLUDED)
    for n in range(17):
        cosines = CANDIDATES @ TEXTS[n]
        others = [i for i in range(23) if i != POSITIVES[n] and i not in EXCLUDED[n]]
        assert retrieved.ranks[n] == 1 + sum(cosines[i] >= cosines[POSITIVES[n]] for i in others)
        assert retrieved.nearest[n] == max(others, key=lambda i: cosines[i])
    sparse = find_positives(csr_matrix(TEXTS), csr_matrix(CANDIDATES), POSITIVES, EXCLUDED)
    assert (sparse.ranks == retrieved.ranks).all() and (sparse.nearest == retrieved.nearest).all()


def test_vectors_that_are_all_the_same_find_nothing():
    same = np.ones((7, 1))
    assert find_positives(same, same, np.arange(7), [[]] * 7).ranks.tolist() == [7] * 7


def test_scores_of_ranks():
    scores = score_ranks(np.array([1, 2, 4, 1, 20]), 23)
    assert scores["mrr"].value == pytest.approx(100 * (1 + 0.5 + 0.25 + 1 + 0.05) / 5)
    assert scores["accuracy"].value == pytest.approx(40) and scores["recall_10"].value == pytest.approx(80)
    scores_at = {rank: score_ranks(np.array([rank, 20]), 23)["recall_10"].value for rank in (1, 10, 11)}
    assert scores_at == pytest.approx({1: 50, 10: 50, 11: 0})
    assert "candidates:23" in scores["mrr"].signature


def test_cosines_of_rows_are_the_same_dense_and_sparse():
    expected = [float(a @ b) for a, b in zip(TEXTS, CANDIDATES[:17], strict=True)]
    for kind in (np.asarray, csr_matrix):
        assert cosines_of_rows(kind(TEXTS), kind(CANDIDATES[:17])) == pytest.approx(expected)
