"""A threshold has the most right answers of all, and knows nothing but order and ties."""

import numpy as np
import pytest

from regard.jobs.senses.thresholds import Threshold, choose_threshold, cosines_of


def count_right(cosines: np.ndarray, same: np.ndarray, threshold: float) -> float:
    return float(np.mean((cosines >= threshold) == same))


@pytest.mark.parametrize("decimals", [0, 1, 7])
def test_no_other_threshold_has_more_right_answers(decimals: int):
    rng = np.random.default_rng(decimals)
    for size in (1, 2, 3, 7, 29):
        for _ in range(23):
            cosines, same = np.round(rng.normal(size=size), decimals), rng.random(size) < 0.5
            chosen = choose_threshold(cosines, same.tolist())
            candidates = [*(cosines - 1e-9), *(cosines + 1e-9)]
            assert chosen.accuracy == pytest.approx(count_right(cosines, same, chosen.value))
            assert chosen.accuracy == pytest.approx(max(count_right(cosines, same, one) for one in candidates))


def test_equal_cosines_have_the_more_frequent_answer():
    """Static vectors of one word form: the cosine is 1 whatever the sentence."""
    for same in ([True] * 5 + [False] * 2, [True] * 2 + [False] * 5):
        chosen = choose_threshold(np.ones(7), same)
        assert chosen.accuracy == pytest.approx(5 / 7) and (chosen.value <= 1) == (sum(same) > 3)


def test_the_threshold_lies_between_what_it_separates():
    chosen = choose_threshold(np.array([0.9, 0.2, 0.5, 0.1]), [True, False, True, False])
    assert chosen.accuracy == 1 and chosen.value == pytest.approx(0.35)


def test_cosines_are_of_rows_and_zero_vectors_have_none():
    a, b = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), np.array([[5.0, 0.0], [-2.0, 2.0], [1.0, 0.0]])
    assert cosines_of(a, b) == pytest.approx([1, 0, 0])


def test_of_equally_good_thresholds_the_lowest_is_chosen():
    assert choose_threshold(np.array([1.0, 2.0]), [True, False]) == Threshold(0.5, 0.5)
