"""Pairs are scored by retrieval or by similarities; what a text may as well be answered by is not held against it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from regard.errors import DataError
from regard.formats.related import RelatedTexts
from regard.jobs.tasks.embedding.evaluation import evaluate_embedder
from regard.jobs.tasks.embedding.report import draw_recall

ANGLES = {"a": 0.0, "a1": 0.3, "a2": 0.1, "b": 1.0, "b1": 1.2, "n": 1.05}


class Angles:
    """Texts as points of a circle."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([(np.cos(ANGLES[text]), np.sin(ANGLES[text])) for text in texts])


def ranks(*examples: RelatedTexts) -> list[float]:
    return [pair.value for pair in evaluate_embedder(Angles(), examples).pairs]


def test_other_positives_of_a_text_and_the_text_itself_are_neither_right_nor_wrong():
    first, second, other = RelatedTexts("a", "a1"), RelatedTexts("a", "a2"), RelatedTexts("b", "b1")
    assert ranks(first, second, other) == [1, 1, 1]
    assert ranks(first, RelatedTexts("b", "a2")) == [2, 2]  # a2, which is nearer, is now the answer of another text
    assert ranks(first, RelatedTexts("b", "a")) == [1, 2]  # a is nearest to itself


def test_hard_negatives_are_candidates():
    evaluation = evaluate_embedder(Angles(), [RelatedTexts("b", "b1", ("n",)), RelatedTexts("a", "a1", ("n",))])
    assert [pair.value for pair in evaluation.pairs] == [2, 1] and evaluation.pairs[0].nearest == "n"
    assert evaluation.scores["mrr"].value == pytest.approx(75) and "candidates:3" in evaluation.scores["mrr"].signature


def test_differences_of_ranks_are_those_of_their_scores_and_the_chart_counts_them():
    examples = [RelatedTexts("b", "b1", ("n",)), RelatedTexts("a", "a1", ("n",))]
    evaluation = evaluate_embedder(Angles(), examples, {"other": [3, 1]})
    (other,) = evaluation.opponents
    difference = evaluation.scores["mrr"].value - other.scores["mrr"].value
    assert other.tests["mrr"].difference == pytest.approx(difference) != 0
    rows = [
        row for part in draw_recall(evaluation).spec["datasets"].values() for row in part if row.get("x") in (1, 10)
    ]
    systems = (evaluation.scores, other.scores)
    expected = [scores[name].value for scores in systems for name in ("accuracy", "recall_10")]
    assert sorted(row["y"] for row in rows) == pytest.approx(sorted(expected))


def test_similarities_are_correlated_with_cosines():
    pairs = [("a", "a2"), ("a", "a1"), ("a", "b1"), ("b", "n"), ("b", "a1")]
    gold = [4.0, 5.0, 0.5, 4.5, 1.0]
    examples = [RelatedTexts(*pair, similarity=value) for pair, value in zip(pairs, gold, strict=True)]
    evaluation = evaluate_embedder(Angles(), examples, {"other": [1, 2, 3, 4, 5]})
    cosines = [np.cos(ANGLES[one] - ANGLES[two]) for one, two in pairs]
    assert [pair.value for pair in evaluation.pairs] == pytest.approx(cosines)
    assert evaluation.scores["spearman"].value == pytest.approx(100 * stats.spearmanr(cosines, gold).statistic)
    (other,) = evaluation.opponents
    difference = evaluation.scores["spearman"].value - other.scores["spearman"].value
    assert other.tests["spearman"].difference == pytest.approx(difference)


class RandomVectors:
    """Texts as random points of a circle."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        angles = np.random.default_rng(3).uniform(0, 2 * np.pi, len(texts))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class Constant:
    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 1))


class Informed:
    """Points of a circle, by the number in a text; the similarity of a pair, too, is in its number."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        numbers = np.array([int(text[1:]) for text in texts])
        angles = 0.06 * numbers + 0.01 * (numbers % 5) * np.array([text[0] == "b" for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_vectors_fail_where_they_are_not_better_than_random_ones():
    count = 97
    related = [RelatedTexts(f"a{n}", f"b{n}") for n in range(count)]
    similar = [RelatedTexts(f"a{n}", f"b{n}", similarity=n % 5) for n in range(count)]
    chance = 100 * sum(1 / (n + 1) for n in range(count)) / count
    assert "MRR" in (reason := evaluate_embedder(RandomVectors(), related).describe_failure())
    assert f"above the {chance:.1f} of random vectors" in reason
    for useless in RandomVectors(), Constant():
        assert "Spearman" in evaluate_embedder(useless, similar).describe_failure()

    opposite = [replace(one, similarity=-one.similarity) for one in similar]
    assert evaluate_embedder(Informed(), related).describe_failure() == ""
    assert evaluate_embedder(Informed(), opposite).describe_failure() == ""
    assert "Spearman of -99" in evaluate_embedder(Informed(), similar).describe_failure()


def test_one_kind_of_pairs_is_expected():
    with pytest.raises(DataError, match="x:1: has single texts; expected pairs"):
        evaluate_embedder(Angles(), [RelatedTexts("a", location="x:1")])
    with pytest.raises(DataError, match="some pairs have a similarity, and others none"):
        evaluate_embedder(Angles(), [RelatedTexts("a", "a1", similarity=1.0), RelatedTexts("a", "a1")])
