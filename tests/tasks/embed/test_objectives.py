"""In-batch softmax and the ranking of similarities, row by row as they are defined; the same text is no negative."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.kernels import GatheredRows, keep_rows
from regard.tasks.embed.batch import RelatedBatch
from regard.tasks.embed.objectives import InBatchSoftmax, SimilarityRanking, VectorObjective

B, D = 5, 7


def make_batch(
    keys: list[int] | None = None, negatives: int = 2, similarities: list[float] | None = None
) -> RelatedBatch:
    size = (2 + negatives) * B
    values = None if similarities is None else torch.tensor(similarities)
    return RelatedBatch(torch.zeros(size, 1), torch.tensor(keys or range(size)), B, values)


def make_vectors(negatives: int = 2) -> torch.Tensor:
    return F.normalize(torch.randn((2 + negatives) * B, D, generator=torch.Generator().manual_seed(3)).double(), dim=1)


def plain_loss(query: torch.Tensor, positive: torch.Tensor, others: list[torch.Tensor], temperature: float) -> float:
    logits = torch.stack([query @ positive, *(query @ other for other in others)]) / temperature
    return float(torch.logsumexp(logits, 0) - logits[0])


@pytest.mark.parametrize("negatives", [0, 1, 2])
@pytest.mark.parametrize("temperature", [0.05, 0.7])
def test_the_loss_is_a_softmax_over_all_positives_and_negatives(negatives: int, temperature: float):
    vectors, batch = make_vectors(negatives), make_batch(negatives=negatives)
    texts, positives, rest = vectors[:B], vectors[B : 2 * B], vectors[2 * B :]
    forward = [
        plain_loss(texts[i], positives[i], [*(positives[j] for j in range(B) if j != i), *rest], temperature)
        for i in range(B)
    ]
    reverse = [
        plain_loss(positives[i], texts[i], [texts[j] for j in range(B) if j != i], temperature) for i in range(B)
    ]
    totals = InBatchSoftmax(temperature)(vectors, batch, keep_rows)
    assert float(totals.objective) == float(totals.loss) == pytest.approx(sum(forward))
    nearest = (texts @ vectors[B:].T).argmax(dim=1)
    assert int(totals.correct) == int((nearest == torch.arange(B)).sum())
    both = InBatchSoftmax(temperature, both_directions=True)(vectors, batch, keep_rows)
    assert float(both.objective) == pytest.approx((sum(forward) + sum(reverse)) / 2)


def test_rows_with_a_text_in_common_are_no_negatives_of_each_other():
    # Rows 0 and 1 have one text; the positive of 2 is that of 3; the text of 4 is a hard negative of 0, and
    # the positive of 4 one of 1.
    texts, positives = [10, 10, 12, 13, 14], [20, 21, 22, 22, 24]
    batch = make_batch([*texts, *positives, 14, 24, 32, 33, 34], negatives=1)
    vectors = make_vectors(1)
    excluded = {0: {1}, 1: {0}, 2: {3}, 3: {2}, 4: set()}
    expected = 0.0
    for i in range(B):
        others = [vectors[B + j] for j in range(B) if j != i and j not in excluded[i]]
        others += [vectors[2 * B + j] for j in range(B) if not (i == 4 and j in (0, 1))]
        expected += plain_loss(vectors[i], vectors[B + i], others, 0.7)
    assert float(InBatchSoftmax(0.7)(vectors, batch, keep_rows).loss) == pytest.approx(expected)
    plain = make_batch(negatives=1)
    assert float(InBatchSoftmax(0.7)(vectors, plain, keep_rows).loss) > expected


def test_a_text_that_is_another_rows_positive_is_no_negative_either():
    batch = make_batch([1, 2, 3, 4, 5, 6, 1, 8, 9, 10], negatives=0)  # the positive of row 1 is the text of row 0
    vectors = make_vectors(0)
    expected = [
        plain_loss(vectors[i], vectors[B + i], [vectors[B + j] for j in range(B) if j != i and {i, j} != {0, 1}], 0.05)
        for i in range(B)
    ]
    assert float(InBatchSoftmax()(vectors, batch, keep_rows).loss) == pytest.approx(sum(expected))


def test_two_views_of_a_text_are_not_excluded():
    batch = make_batch([*range(B), *range(B)], negatives=0)
    assert_close(
        InBatchSoftmax()(make_vectors(0), batch, keep_rows).loss,
        InBatchSoftmax()(make_vectors(0), make_batch(negatives=0), keep_rows).loss,
    )


def test_equal_vectors_have_the_logarithm_of_what_a_text_is_compared_with():
    ones = torch.ones(3 * B, 1)
    for both in (False, True):
        totals = InBatchSoftmax(both_directions=both)(ones[: 2 * B], make_batch(negatives=0), keep_rows)
        assert float(totals.loss) / B == pytest.approx(math.log(B))
    assert float(InBatchSoftmax()(ones, make_batch(negatives=1), keep_rows).loss) / B == pytest.approx(math.log(2 * B))
    ranked = make_batch(negatives=0, similarities=[1, 5, 3, 2, 4])
    loss = SimilarityRanking()(ones[: 2 * B], ranked, keep_rows).loss
    assert float(loss) == pytest.approx(sum(math.log(n) for n in range(1, B + 1)))


def test_a_pair_is_ranked_above_all_that_are_less_similar():
    similarities, vectors = [1.0, 5.0, 3.0, 3.0, 0.0], make_vectors(0)
    cosines = (vectors[:B] * vectors[B:]).sum(1)
    expected, correct = 0.0, 0
    for i in range(B):
        lower = [cosines[j] / 0.05 for j in range(B) if similarities[j] < similarities[i]]
        own = cosines[i] / 0.05
        expected += float(torch.logsumexp(torch.stack([own, *lower]), 0) - own)
        correct += all(own > other for other in lower)
    batch = make_batch(negatives=0, similarities=similarities)
    totals = SimilarityRanking()(vectors, batch, keep_rows)
    assert float(totals.objective) == pytest.approx(expected) and int(totals.correct) == correct
    scaled = replace(batch, similarities=batch.similarities**2)  # the order alone counts
    assert_close(SimilarityRanking()(vectors, scaled, keep_rows).loss, totals.loss)


def sum_over_processes(objective: VectorObjective, vectors: torch.Tensor, batch: RelatedBatch, cut: int) -> list[float]:
    """The loss and the hits of two processes, the first of which has the rows up to `cut`."""
    halves = [list(range(cut)), list(range(cut, B))]
    rows = [[start + row for start in range(0, len(vectors), B) for row in half] for half in halves]
    parts = [
        RelatedBatch(
            batch.ids[own],
            batch.keys[own],
            len(half),
            None if batch.similarities is None else batch.similarities[half],
        )
        for own, half in zip(rows, halves, strict=True)
    ]
    gathered: list[list[torch.Tensor]] = [[], []]
    for rank in (0, 1):
        objective(vectors[rows[rank]], parts[rank], lambda one, to=gathered[rank]: to.append(one) or keep_rows(one))
    results = []
    for rank in (0, 1):
        calls = (
            GatheredRows(torch.cat(pair), len(pair[0]) * rank) for pair in zip(gathered[0], gathered[1], strict=True)
        )
        results.append(objective(vectors[rows[rank]], parts[rank], lambda _, calls=calls: next(calls)))
    return [sum(float(one.loss) for one in results), sum(int(one.correct) for one in results)]


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize(
    ("objective", "similarities"),
    [
        (InBatchSoftmax(0.7), None),
        (InBatchSoftmax(0.7, both_directions=True), None),
        (SimilarityRanking(0.7), [3.0, 1.0, 3.0, 0.0, 2.0]),
    ],
)
def test_processes_with_some_of_the_rows_each_have_the_loss_of_one_with_all(
    objective: VectorObjective, similarities: list[float] | None, cut: int
):
    # Rows 0 and 3 have one text, 2 and 4 one positive, and the positive of 1 is a hard negative of 3.
    keys = [10, 11, 12, 10, 14, 20, 21, 22, 23, 22, 30, 31, 32, 21, 34]
    vectors, batch = make_vectors(1), make_batch(keys, negatives=1, similarities=similarities)
    whole = objective(vectors, batch, keep_rows)
    loss, correct = sum_over_processes(objective, vectors, batch, cut)
    assert loss == pytest.approx(float(whole.loss)) and correct == int(whole.correct)
