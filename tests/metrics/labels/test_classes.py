"""Scores of classes equal scikit-learn's; their intervals are those of leaving out each text."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.metrics.intervals import PERCENT, Spread, jackknife_interval
from regard.metrics.labels import CLASS_MEASURES, count_confusion, flat_measure, score_classes, score_parts
from regard.metrics.labels.classes import SignedPercentScale, class_f1, class_recall

sklearn_metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed (extra `tune`)")
GOLD, PREDICTED = list("0001122221"), list("0011122020")
LABELS = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), min_size=1, max_size=30)


def test_golden_values():
    scores = score_classes(count_confusion(GOLD, PREDICTED))
    expected = {
        "accuracy": 70.0,
        "macro_f1": 69.8413,
        "weighted_f1": 71.4286,
        "balanced_accuracy": 69.4444,
        "mcc": 56.0606,
        "kappa": 55.2239,
    }
    assert {name: round(score.value, 4) for name, score in scores.items()} == expected
    assert count_confusion(GOLD, PREDICTED).matrix.tolist() == [[2, 1, 0], [1, 2, 0], [1, 0, 3]]


def test_a_class_that_is_only_predicted_lowers_the_mean():
    scores = score_classes(count_confusion(list("0110"), list("0112")))
    assert scores["macro_f1"].value == pytest.approx(55.5556, abs=1e-4)
    assert "over:gold-or-predicted" in scores["macro_f1"].signature


def test_one_class_predicted_has_no_correlation():
    scores = score_classes(count_confusion(list("011"), list("111")))
    assert scores["mcc"].value == 0 and scores["macro_f1"].value == pytest.approx(40)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None)
@given(LABELS)
def test_measures_are_those_of_scikit_learn(pairs):
    gold, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    scores = score_classes(count_confusion(gold, predicted))
    expected = {
        "accuracy": sklearn_metrics.accuracy_score(gold, predicted),
        "macro_f1": sklearn_metrics.f1_score(gold, predicted, average="macro", zero_division=0),
        "weighted_f1": sklearn_metrics.f1_score(gold, predicted, average="weighted", zero_division=0),
        "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(gold, predicted),
        "mcc": sklearn_metrics.matthews_corrcoef(gold, predicted),
    }
    for name, value in expected.items():
        assert scores[name].value == pytest.approx(100 * value, abs=1e-9), name
    if len({*gold, *predicted}) > 1:
        kappa = sklearn_metrics.cohen_kappa_score(gold, predicted)
        assert scores["kappa"].value == pytest.approx(100 * kappa, abs=1e-9)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=50, deadline=None)
@given(LABELS)
def test_classes_alone_are_those_of_scikit_learn(pairs):
    gold, predicted = ([pair[side] for pair in pairs] for side in (0, 1))
    matrix = count_confusion(gold, predicted).matrix
    expected = sklearn_metrics.precision_recall_fscore_support(gold, predicted, zero_division=0)
    assert class_recall(matrix) == pytest.approx(expected[1]) and class_f1(matrix) == pytest.approx(expected[2])
    parts = score_parts([(label,) for label in gold], [(label,) for label in predicted])
    for name, values in zip(("precision", "recall", "f1"), expected, strict=False):
        assert [getattr(one, name) or 0 for one in parts] == pytest.approx(100 * values)


@pytest.mark.parametrize("name", CLASS_MEASURES)
def test_leaving_out_a_text_is_scoring_the_others(name):
    gold, predicted = GOLD * 2, PREDICTED * 2
    confusion = count_confusion(gold, predicted)
    expected = [
        score_classes(count_confusion(gold[:n] + gold[n + 1 :], predicted[:n] + predicted[n + 1 :]))[name].value
        for n in range(len(gold))
    ]
    measure = flat_measure(name, len(confusion.classes))
    assert confusion.counts.leave_one_out(measure) == pytest.approx(expected)


def test_intervals_are_inside_the_possible_range_and_none_is_given_for_few_texts():
    perfect = score_classes(count_confusion(GOLD * 3, GOLD * 3))
    assert all(score.value == 100 and score.high <= 100 and score.low < 100 for score in perfect.values() if score.low)
    wrong = score_classes(count_confusion(["a", "b"] * 9, ["b", "a"] * 9))
    assert wrong["mcc"].value == pytest.approx(-100) and wrong["mcc"].low >= -100 and wrong["accuracy"].low == 0
    assert score_classes(count_confusion(GOLD[:9], PREDICTED[:9]))["accuracy"].low is None


def test_further_classes_change_nothing():
    with_more = score_classes(count_confusion(GOLD, PREDICTED, ["x", "y"]))
    alone = score_classes(count_confusion(GOLD, PREDICTED))
    assert [score.value for score in with_more.values()] == pytest.approx([score.value for score in alone.values()])


def test_wrong_lengths_are_refused():
    with pytest.raises(DataError, match="1 predictions but 2 labels"):
        count_confusion(["a", "b"], ["a"])
    with pytest.raises(DataError, match="nothing to score"):
        count_confusion([], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accuracy", "macro_f1", "mcc"])
def test_intervals_hold_the_truth_in_95_of_100_cases(name, record_property):
    rng = np.random.default_rng(0)
    joint = np.array([[0.3, 0.05, 0.02], [0.04, 0.25, 0.06], [0.03, 0.05, 0.2]])
    truth, hits, trials = 100 * CLASS_MEASURES[name][1](joint), 0, 2000
    for _ in range(trials):
        cells = rng.choice(9, size=200, p=joint.ravel() / joint.sum())
        confusion = count_confusion([str(c // 3) for c in cells], [str(c % 3) for c in cells])
        score = score_classes(confusion)[name]
        hits += score.low <= truth <= score.high
    record_property("coverage", f"{hits / trials:.3f}")
    assert 0.93 <= hits / trials <= 0.97


@pytest.mark.parametrize("value", [-90.0, -3.0, 0.0, 40.0, 99.0])
def test_signed_percents_are_symmetric_around_zero(value):
    """Half of the distance from -100 is a percentage, with half of the error."""
    spread = Spread(np.array(2.0), 2.1, np.array(0.0), 23)
    low, high = SignedPercentScale().interval(np.array(value), spread)
    other_low, other_high = SignedPercentScale().interval(np.array(-value), spread)
    assert (float(low), float(high)) == pytest.approx((-float(other_high), -float(other_low)))
    half_low, half_high = PERCENT.interval(np.array((value + 100) / 2), replace(spread, standard_error=np.array(1.0)))
    assert (float(low), float(high)) == pytest.approx((2 * half_low - 100, 2 * half_high - 100))
    assert -100 < low < value < high < 100


@pytest.mark.parametrize("name", CLASS_MEASURES)
def test_a_score_has_the_interval_of_its_measure(name):
    gold, predicted = GOLD * 3, PREDICTED * 3
    confusion = count_confusion(gold, predicted)
    score, measure = score_classes(confusion)[name], flat_measure(name, 3)
    scale = SignedPercentScale() if name in ("mcc", "kappa") else PERCENT
    value = np.array(float(measure(confusion.counts.total())))
    low, high = jackknife_interval(value, confusion.counts.leave_one_out(measure), np.ones(30), scale)
    assert (score.value, score.low, score.high) == pytest.approx((float(value), float(low), float(high)))
    over = "|over:gold-or-predicted" if name == "macro_f1" else ""
    assert score.signature == f"unit:text|classes:3|n:30{over}|ci:jackknife-t,logit"
