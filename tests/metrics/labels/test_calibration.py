"""Calibration: golden values, bins that are closed above, the temperature that made the data, all thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import DataError
from regard.metrics.labels import (
    expected_calibration_error,
    fit_temperature,
    fit_thresholds,
    reliability_curve,
    scale_logits,
)

CONFIDENCES = [0.95, 0.9, 0.8, 0.7, 0.65, 0.6, 0.55, 0.85, 0.75, 0.99]
CORRECT = [1, 1, 1, 0, 1, 0, 1, 1, 0, 1]


@pytest.mark.parametrize(("num_bins", "error"), [(10, 13.6), (15, 20.6), (5, 13.6)])
def test_the_error_depends_on_the_bins_and_names_them(num_bins, error):
    score = expected_calibration_error(CONFIDENCES, CORRECT, num_bins)
    assert score.value == pytest.approx(error) and f"bins:{num_bins}|n:10" in score.signature
    assert score.low is None and score.high is None


def test_bins_hold_their_upper_ends():
    tenths = np.arange(11) / 10
    curve = reliability_curve(tenths, np.ones(11), 10)
    assert [one.count for one in curve] == [2, *[1] * 9], "0 is in the first bin"
    assert [one.high for one in curve] == pytest.approx(tenths[1:])
    assert all(one.low < one.confidence <= one.high for one in curve)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40), st.integers(1, 17))
def test_the_curve_has_every_prediction_once(predictions, num_bins):
    confidences, correct = zip(*predictions, strict=True)
    curve = reliability_curve(confidences, correct, num_bins)
    assert sum(one.count for one in curve) == len(predictions)
    assert sum(one.count * one.confidence for one in curve) == pytest.approx(sum(confidences))
    assert sum(one.count * one.accuracy for one in curve) == pytest.approx(sum(correct))
    error, one_bin = (expected_calibration_error(confidences, correct, bins).value for bins in (num_bins, 1))
    assert one_bin - 1e-9 <= error <= 100
    assert one_bin == pytest.approx(100 * abs(np.mean(confidences) - np.mean(correct)))


def draw_labels(rng, log_probs):
    return np.array([rng.choice(len(row), p=np.exp(row)) for row in log_probs])


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_the_temperature_of_overconfident_logits_is_found(temperature):
    rng = np.random.default_rng(3)
    logits = 3 * rng.normal(size=(4001, 5))
    labels = draw_labels(rng, scale_logits(logits, temperature))
    fitted = fit_temperature(logits, labels)
    assert fitted == pytest.approx(temperature, rel=0.1)
    loss = [-scale_logits(logits, t)[np.arange(4001), labels].mean() for t in (0.98 * fitted, fitted, 1.02 * fitted)]
    assert loss[1] < loss[0] and loss[1] < loss[2]


def test_what_changes_no_probability_changes_no_temperature():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(101, 3))
    labels = draw_labels(rng, scale_logits(logits, 1.7))
    fitted, order = fit_temperature(logits, labels), rng.permutation(101)
    assert fit_temperature(scale_logits(logits, 1), labels) == pytest.approx(fitted)
    assert fit_temperature(logits + rng.normal(size=(101, 1)), labels) == pytest.approx(fitted)
    assert fit_temperature(logits[order], labels[order]) == pytest.approx(fitted)
    assert fit_temperature(logits[:, [2, 0, 1]], (labels + 1) % 3) == pytest.approx(fitted)
    assert fit_temperature(2 * logits, labels) == pytest.approx(2 * fitted, rel=1e-4)


def test_calibrated_confidences_have_a_smaller_error():
    rng = np.random.default_rng(7)
    logits = 5 * rng.normal(size=(3001, 4))
    labels = draw_labels(rng, scale_logits(logits, 3))
    errors = []
    for temperature in (1, fit_temperature(logits, labels)):
        log_probs = scale_logits(logits, temperature)
        assert np.exp(log_probs).sum(axis=1) == pytest.approx(np.ones(3001))
        correct = log_probs.argmax(axis=1) == labels
        errors.append(expected_calibration_error(np.exp(log_probs.max(axis=1)), correct).value)
    assert errors[1] < 3 < errors[0]


def test_a_dev_set_without_errors_gives_a_temperature_with_a_bound():
    assert fit_temperature(np.eye(3), [0, 1, 2]) == pytest.approx(1 / 20, rel=1e-3)
    assert fit_temperature(np.eye(3), [1, 2, 0]) == pytest.approx(20, rel=1e-3)


def f1_at(threshold, probabilities, gold):
    predicted = probabilities >= threshold
    total = predicted.sum() + gold.sum()
    return 2 * (predicted & gold).sum() / total if total else 0


LABEL_ROWS = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=25)


@given(LABEL_ROWS)
def test_no_threshold_has_a_larger_f1(rows):
    probabilities, gold = np.array([p / 20 for p, _ in rows]), np.array([answer for _, answer in rows])
    (threshold,) = fit_thresholds(probabilities[:, None], gold[:, None])
    candidates = np.arange(0, 1.01, 0.005)
    values = np.array([f1_at(t, probabilities, gold) for t in candidates])
    best = f1_at(threshold, probabilities, gold)
    assert best == pytest.approx(values.max())
    if f1_at(0.5, probabilities, gold) == pytest.approx(values.max()):
        assert threshold == 0.5


def test_labels_have_thresholds_of_their_own():
    probabilities = np.array([[0.9, 0.2, 0.1], [0.8, 0.15, 0.6], [0.7, 0.1, 0.2], [0.6, 0.05, 0.3]])
    gold = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]], bool)
    assert fit_thresholds(probabilities, gold) == pytest.approx([0.75, 0.125, 0.5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_calibration_error([0.5], [1, 0]), "1 confidences for 2 predictions"),
        (lambda: expected_calibration_error([], []), "0 confidences"),
        (lambda: expected_calibration_error([1.5], [1]), "expected probabilities"),
        (lambda: expected_calibration_error([float("nan")], [1]), "expected probabilities"),
        (lambda: fit_temperature([[1, 2]], [0, 1]), "expected one row for each label"),
        (lambda: fit_temperature([1, 2], [0, 1]), "expected one row for each label"),
        (lambda: fit_thresholds([[1, 2]], [[True]]), "expected the same"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()
