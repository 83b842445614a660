"""The best documents of many are those of a full sort, in whatever blocks they come; fusion adds reciprocal ranks."""

import numpy as np
import pytest

from regard.metrics.retrieval import rank_documents
from regard.retrieval.ranking import EMPTY, RankedDocuments, TopDocuments, fuse_reciprocal_ranks, select_top

N, Q = 53, 3


def case() -> tuple[np.ndarray, list[str], np.ndarray]:
    """Scores with many ties, ids in no order, and the rank of each id."""
    rng = np.random.default_rng(11)
    ids = [f"d{n}" for n in rng.permutation(N)]
    ranks = np.empty(N, np.int32)
    ranks[np.argsort(ids)] = np.arange(N)
    return rng.integers(0, 7, (Q, N)).astype(np.float32), ids, ranks


@pytest.mark.parametrize("depth", [1, 5, 17, N, 101])
@pytest.mark.parametrize("block", [1, 7, N])
def test_the_order_is_that_of_trec_eval_whatever_the_blocks(depth: int, block: int):
    scores, ids, ranks = case()
    top = TopDocuments(Q, depth, ranks)
    for begin in range(0, N, block):
        numbers = np.arange(begin, min(begin + block, N))
        top.add(numbers, scores[:, numbers])
    for row, ranking in zip(scores, top.rankings, strict=True):
        expected = rank_documents(dict(zip(ids, row.tolist(), strict=True)))[:depth]
        assert [ids[n] for n in ranking.documents] == expected
        assert (ranking.scores == row[ranking.documents]).all()


def ranked(*documents: int) -> RankedDocuments:
    return RankedDocuments(np.array(documents), np.linspace(1, 0, len(documents), dtype=np.float32))


def test_fusion_adds_reciprocal_ranks():
    ties = np.arange(9, dtype=np.int32)
    fused = fuse_reciprocal_ranks([ranked(4, 7, 1), ranked(7, 2, 4)], 10, ties)
    scores = dict(zip(fused.documents.tolist(), fused.scores.tolist(), strict=True))
    assert scores == pytest.approx({7: 1 / 62 + 1 / 61, 4: 1 / 61 + 1 / 63, 2: 1 / 62, 1: 1 / 63})
    assert scores[4] == pytest.approx(0.032266, abs=5e-7)
    assert list(fused.documents) == [7, 4, 2, 1]
    assert list(fuse_reciprocal_ranks([ranked(4, 7, 1), EMPTY], 2, ties).documents) == [4, 7]
    assert list(fuse_reciprocal_ranks([ranked(3), ranked(5)], 2, ties).documents) == [5, 3]  # a tie
    assert not len(fuse_reciprocal_ranks([EMPTY, EMPTY], 2, ties).documents)


def test_nothing_to_select_from_is_nothing():
    assert not len(select_top(EMPTY.documents, EMPTY.scores, 3, np.arange(2, dtype=np.int32)).documents)
