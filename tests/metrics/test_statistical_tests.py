"""Tests over samples of scores: chance is named as often as it should be, and p-values are the textbook's."""

import itertools
import math
import random

import numpy as np
import pytest
from scipy import stats

from regard.metrics.statistical_tests import (
    SIGNIFICANCE_LEVEL,
    PermutationTestResult,
    SpearmanTestResult,
    holm_correction,
    holm_steps,
    permutation_test,
    spearman_correlation,
    spearman_test,
    tukey_p_value,
    welch_t_test,
)


@pytest.mark.parametrize("labels", [2, 6])
def test_chance_is_significant_once_in_twenty_for_any_number_of_labels(labels: int):
    rng = random.Random(7)
    samples = [[(n % labels, rng.gauss(0, 1)) for n in range(24)] for _ in range(300)]
    assert 0.01 < sum(permutation_test([sample]).significant for sample in samples) / len(samples) < 0.09


def test_permutations_stay_within_their_block():
    blocks = [
        [("a", 1.0), ("a", 2.0), ("b", 3.0), ("b", 4.5), ("c", 2.2), ("c", 2.4)],
        [("a", 0.0), ("b", 1.0), ("c", 0.2)],
    ]
    test = permutation_test(blocks)
    assert (test.p_value, test.min_p_value) == pytest.approx((0.013993003498250875,) * 2, abs=1e-9)
    assert test.significant and test.can_reach_significance
    assert not permutation_test([[("a", 1.0), ("b", 9.0)]]).can_reach_significance


@pytest.mark.parametrize(
    ("sample_a", "sample_b", "p_value"),
    [
        ([24.1, 24.4, 23.8], [25.0, 26.1, 25.2, 25.9], 0.006686629227093177),
        ([1.0, 2.0], [1.5, 3.5], 0.49313270812084675),
        ([20.0, 20.5, 21.0, 19.5, 20.2], [20.1, 20.3], 0.8879211939757684),
        ([25.0, 25.2, 25.4], [20.0, 20.1, 20.2], 4.2016979394765563e-05),
        ([1.0, 1.0, 1.0], [1.0, 2.0, 4.0], 0.26970325665977835),
    ],
)
def test_welchs_p_values_are_those_of_numerical_integration(sample_a, sample_b, p_value: float):
    """The values of an integral of Student's density by Simpson's rule, to 1e-9."""
    assert welch_t_test(sample_a, sample_b) == pytest.approx(p_value, abs=1e-9)
    assert welch_t_test(sample_b, sample_a) == pytest.approx(p_value, abs=1e-9)


def test_welchs_p_value_has_a_closed_form_for_two_degrees_of_freedom():
    """Two pairs of equal spread have 2 degrees of freedom, for which p = 1 - t / √(2 + t²)."""
    for gap in (0.3, 1.0, 4.0, 50.0):
        t = gap / math.sqrt(0.5 + 0.5)  # each variance is 0.5 · 2² / 2 = 1, over 2 values
        sample = [0.0, math.sqrt(2.0)]
        expected = 1 - t / math.sqrt(2 + t * t)
        assert welch_t_test(sample, [value + gap for value in sample]) == pytest.approx(expected, abs=1e-9)


def test_samples_without_variance_are_equal_or_not():
    assert welch_t_test([1.0, 1.0], [1.0, 1.0]) == 1.0 and welch_t_test([1.0, 1.0], [2.0, 2.0]) == 0.0


@pytest.mark.parametrize(
    ("points", "rho"),
    [
        ([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)], 0.8),
        ([(1, 1), (1, 2), (2, 2), (3, 9), (3, 0), (7, 4)], 0.4030299679679092),
        ([(1, 1), (2, 1), (3, 1)], 0.0),
        ([(0.3, 5.0), (0.1, 2.0)], 1.0),
    ],
)
def test_spearmans_p_value_is_that_of_all_permutations(points, rho: float):
    x, y = zip(*points, strict=True)
    test = spearman_test(x, y)
    assert test.rho == pytest.approx(rho, abs=1e-9)
    others = [spearman_correlation(x, order) for order in itertools.permutations(y)]
    exact = sum(abs(other) >= abs(rho) - 1e-9 or math.isnan(other) for other in others) / len(others)
    assert test.p_value == pytest.approx(exact, abs=0.03) and test.significant == (exact < 0.05)


def test_tukeys_p_values_are_those_of_scipys_integral():
    samples = [[24.1, 24.9, 23.8], [25.0, 26.1, 25.2], [24.0, 24.2, 25.1], [20.0, 21.5, 20.2]]
    theirs = stats.tukey_hsd(*samples).pvalue
    assert [tukey_p_value(samples, 0, n) for n in (1, 2, 3)] == pytest.approx(theirs[0, 1:].tolist(), abs=0.005)
    assert tukey_p_value([[1.0, 1.0], [1.0, 1.0]], 0, 1) == 1 and tukey_p_value([[1.0, 1.0], [2.0, 2.0]], 0, 1) == 0


def test_holms_p_values_grow_with_the_number_of_tests():
    assert holm_correction({"a": 0.01, "b": 0.03, "c": 0.02, "d": 0.6}) == pytest.approx(
        {"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.6}
    )
    assert holm_correction({"a": 0.4}) == {"a": 0.4} and holm_correction({"a": 0.7, "b": 0.8}) == {"a": 1.0, "b": 1.0}


def test_a_constant_has_no_rank_correlation():
    assert math.isnan(spearman_correlation([1.0, 2.0], [3.0, 3.0])) and math.isnan(spearman_correlation([1.0], [2.0]))
    assert spearman_correlation(np.arange(7.0), -(np.arange(7.0) ** 3)) == pytest.approx(-1)


def test_labels_of_different_numbers_are_compared_by_their_means():
    test = permutation_test([[("a", 1.0), ("a", 3.0), ("b", 2.0), ("c", 0.0), ("c", 4.0), ("c", 2.0)]])
    assert test.p_value == 1 and test.min_p_value < 1  # all means are 2
    uneven = [("a", float(n)) for n in range(9)] + [("b", 20.0 + n) for n in range(3)]
    found = permutation_test([uneven])
    one_differs = [(label, 0.0) for label in "aaaaaabbbbbb"] + [("c", 10.0)] * 2
    differs = permutation_test([one_differs])
    assert differs.p_value == differs.min_p_value < 0.05
    assert found.significant and found.p_value == found.min_p_value  # the largest gap that there could be


def test_a_p_value_at_the_level_is_not_below_it():
    assert not PermutationTestResult(SIGNIFICANCE_LEVEL, SIGNIFICANCE_LEVEL).significant
    assert not PermutationTestResult(SIGNIFICANCE_LEVEL, SIGNIFICANCE_LEVEL).can_reach_significance
    assert not SpearmanTestResult(0.5, SIGNIFICANCE_LEVEL).significant
    below = SIGNIFICANCE_LEVEL - 1e-9
    assert (
        PermutationTestResult(below, below).significant and PermutationTestResult(below, below).can_reach_significance
    )
    assert SpearmanTestResult(0.5, below).significant and SIGNIFICANCE_LEVEL == 0.05


def test_tukeys_test_pools_unequal_samples():
    samples = [[24.1, 24.9, 23.8, 24.4], [25.0, 26.1], [24.0, 24.2, 25.1, 20.0, 23.0], [7.0]]
    with_single = tukey_p_value(samples[:3], 0, 1)
    theirs = stats.tukey_hsd(*samples[:3]).pvalue
    assert with_single == pytest.approx(theirs[0, 1], abs=0.01)
    assert tukey_p_value(samples[:3], 1, 2) == pytest.approx(theirs[1, 2], abs=0.01)
    assert 0 < tukey_p_value(samples, 0, 3) < 0.01  # one value has no spread of its own


def test_holms_steps_say_their_factors():
    steps = holm_steps({"a": 0.02, "b": 0.011, "c": 0.5})
    assert list(steps) == ["b", "a", "c"] and [step.factor for step in steps.values()] == [3, 2, 1]
    assert [step.p_value for step in steps.values()] == pytest.approx([0.033, 0.04, 0.5])
