"""Opponents beside a model: the model minus the opponent, the existing tests, and reasons where one is missing."""

import sys

import numpy as np
import pytest

from regard.baselines import (
    LABEL_OPPONENTS,
    OpponentPredictions,
    compare_bits,
    compare_labels,
    compare_tags,
    predict_by_opponents,
)
from regard.errors import DataError
from regard.formats.labeled import LabeledText
from regard.metrics.labels import compare_with_baseline, count_confusion, flat_measure, score_classes

CLASSES = np.array(list("abc"))


def noisy(rng, gold, accuracy):
    return [answer if rng.random() < accuracy else (str(rng.choice(CLASSES)),) for answer in gold]


def draw_gold(rng, count):
    return [(str(label),) for label in rng.choice(CLASSES, size=count)]


def test_the_difference_is_the_model_minus_the_opponent():
    rng = np.random.default_rng(3)
    gold = draw_gold(rng, 307)
    strong, weak = noisy(rng, gold, 0.9), noisy(rng, gold, 0.5)
    (row,) = compare_labels(gold, strong, OpponentPredictions({"weak": weak}))
    scores = {
        name: score_classes(count_confusion([g for (g,) in gold], [a for (a,) in answers]))
        for name, answers in (("strong", strong), ("weak", weak))
    }
    assert row.scores == scores["weak"]
    for measure, test in row.tests.items():
        assert test.difference == pytest.approx(scores["strong"][measure].value - scores["weak"][measure].value)
        assert test.verdict == "significant by both tests"
    (turned,) = compare_labels(gold, weak, OpponentPredictions({"strong": strong}))
    assert turned.tests["accuracy"].difference == pytest.approx(-row.tests["accuracy"].difference)
    assert row.as_dict()["accuracy"]["p_bootstrap"] == row.tests["accuracy"].p_bootstrap < 0.01
    assert "p_bootstrap" not in row.as_dict()["kappa"]


def test_p_values_are_those_of_the_paired_tests():
    rng = np.random.default_rng(5)
    gold = draw_gold(rng, 101)
    systems = {name: noisy(rng, gold, accuracy) for name, accuracy in (("", 0.7), ("x", 0.6), ("y", 0.65))}
    counts = {
        name: count_confusion([g for (g,) in gold], [a for (a,) in answers], CLASSES).counts
        for name, answers in systems.items()
    }
    differing = {name: sum(a != b for a, b in zip(systems[""], s, strict=True)) for name, s in systems.items()}
    expected = compare_with_baseline(counts, differing, flat_measure("accuracy", 3))
    model = systems.pop("")
    for row in compare_labels(gold, model, OpponentPredictions(systems)):
        test = row.tests["accuracy"]
        assert (test.p_bootstrap, test.p_randomized) == (
            expected[row.name].p_bootstrap,
            expected[row.name].p_randomized,
        )
        assert test.num_differing == differing[row.name]


def test_a_model_that_is_its_opponent_does_not_differ():
    gold = draw_gold(np.random.default_rng(7), 41)
    (row,) = compare_labels(gold, gold, OpponentPredictions({"same": gold}))
    assert row.tests["macro_f1"].verdict == "the same predictions" and row.tests["macro_f1"].difference == 0


def test_sets_of_labels_and_tags_are_scored_by_f1():
    gold = [("a", "b"), ("b",), (), ("c",)] * 5
    (row,) = compare_labels(gold, gold, OpponentPredictions({"majority": [("b",)] * 20}))
    assert row.scores["f1"].value == pytest.approx(50) and row.tests["f1"].difference == pytest.approx(50)
    tags = [("B-P", "I-P", "O"), ("O", "B-L", "O")] * 10
    outside = [("O", "O", "O")] * 20
    (row,) = compare_tags(tags, tags, OpponentPredictions({"outside": outside}))
    assert row.scores["f1"].value == row.scores["strict_f1"].value == 0 and row.tests["f1"].difference == 100
    words = [("DET", "NOUN")] * 10 + [("NOUN", "VERB")] * 10
    (row,) = compare_tags(words, words, OpponentPredictions({"nouns": [("NOUN", "NOUN")] * 20}))
    assert row.scores["f1"].value == pytest.approx(50) and "mode:words" in row.scores["f1"].signature


def test_opponents_are_fitted_on_training_texts_and_a_missing_one_is_named(monkeypatch):
    training = [LabeledText("fine film", ("good",)), LabeledText("fine", ("good",)), LabeledText("dull", ("bad",))]
    test = [LabeledText("dull film", ("good",)), LabeledText("fine", ("bad",))]
    monkeypatch.setitem(sys.modules, "sklearn", None)
    opponents = predict_by_opponents(LABEL_OPPONENTS, training, test, test)
    assert opponents.answers == {"most frequent label": [("good",), ("good",)]}
    rows = compare_labels([one.labels for one in test], [("good",), ("bad",)], opponents)
    assert [row.name for row in rows] == list(LABEL_OPPONENTS)
    assert rows[1].scores == {} and "scikit-learn is not installed" in rows[1].as_dict()["not_computed"]


def test_nothing_to_compare_with_is_no_row():
    assert compare_labels([("a",)], [("a",)], OpponentPredictions({})) == []


def test_bits_of_documents_are_compared_in_pairs():
    rng = np.random.default_rng(9)
    sizes = rng.integers(100, 1000, size=61)
    common = rng.normal(2.4, 0.5, size=61)  # documents differ more than models do
    model = sizes * common
    better, same = (
        sizes * (common - 0.1 + rng.normal(0, 0.05, size=61)),
        sizes * (common + rng.normal(0, 0.05, size=61)),
    )
    rows = {row.name: row for row in compare_bits(sizes, model, {"better": better, "same": same, "equal": model})}
    test = rows["better"].tests["bits_per_byte"]
    assert test.difference == pytest.approx((model.sum() - better.sum()) / sizes.sum()) and test.difference > 0
    assert test.verdict == "significant by both tests"
    assert rows["same"].tests["bits_per_byte"].verdict == "not significant by either test"
    assert rows["equal"].tests["bits_per_byte"].verdict == "the same predictions"
    score = rows["better"].scores["bits_per_byte"]
    assert score.value == pytest.approx(better.sum() / sizes.sum()) and score.low < score.value < score.high


def test_bits_of_other_documents_are_refused():
    with pytest.raises(DataError, match="5-gram has bits of 2 documents, but 3 are scored"):
        compare_bits([1, 2, 3], [1, 2, 3], {"5-gram": [1, 2]})
    with pytest.raises(DataError, match="the model has bits of 1 documents"):
        compare_bits([1, 2, 3], [1], {})
