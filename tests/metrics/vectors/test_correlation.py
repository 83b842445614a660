"""Correlations are scipy's; intervals are those of the jackknife; paired tests see what is there, and nothing else."""

import math

import numpy as np
import pytest
from scipy import stats

from regard.errors import DataError
from regard.metrics.vectors import compare_correlations, correlation, score_correlations

RNG = np.random.default_rng(3)
GOLD = RNG.integers(0, 11, 61) / 2  # with ties
NOISY = GOLD + RNG.normal(0, 0.6, 61)
P_VALUES = ("p_bootstrap", "p_randomized")
NOISIER = GOLD + RNG.normal(0, 4.0, 61)


def test_values_are_those_of_scipy():
    scores = score_correlations(NOISY, GOLD)
    assert scores["spearman"].value == pytest.approx(100 * stats.spearmanr(NOISY, GOLD).statistic)
    assert scores["pearson"].value == pytest.approx(100 * stats.pearsonr(NOISY, GOLD).statistic)
    assert list(scores) == ["spearman", "pearson"] and "n:61|ties:mean-rank" in scores["spearman"].signature
    assert score_correlations(-NOISY, GOLD)["spearman"].value == pytest.approx(-scores["spearman"].value)
    assert score_correlations(np.exp(NOISY), GOLD)["spearman"].value == pytest.approx(scores["spearman"].value)
    assert score_correlations(np.ones(61), GOLD)["spearman"].value == 0  # vectors that are all the same


def test_the_interval_is_the_jackknife_with_ranks_of_each_sample():
    score = score_correlations(NOISY, GOLD)["spearman"]
    without = [stats.spearmanr(np.delete(NOISY, i), np.delete(GOLD, i)).statistic for i in range(61)]
    error = math.sqrt(60 / 61 * np.square(np.array(without) - np.mean(without)).sum())
    share = (1 + score.value / 100) / 2
    margin = stats.t.ppf(0.975, 60) * error / 2 / (share * (1 - share))
    bounds = [2 / (1 + math.exp(-(math.log(share / (1 - share)) + sign * margin))) - 1 for sign in (-1, 1)]
    assert [score.low, score.high] == pytest.approx([100 * bound for bound in bounds])
    fisher = [math.tanh(math.atanh(score.value / 100) + sign * 1.96 / math.sqrt(58)) for sign in (-1, 1)]
    assert [score.low, score.high] == pytest.approx([100 * bound for bound in fisher], abs=6)


def test_of_many_pairs_groups_are_left_out(monkeypatch: pytest.MonkeyPatch):
    gold = RNG.normal(0, 1, 997)
    predicted = gold + RNG.normal(0, 1, 997)
    exact = score_correlations(predicted, gold)["spearman"]
    monkeypatch.setattr(correlation, "MAX_SINGLE", 100)
    grouped = score_correlations(predicted, gold)["spearman"]
    assert grouped.value == exact.value
    assert grouped.high - grouped.low == pytest.approx(exact.high - exact.low, rel=0.25)


def test_a_better_system_is_significantly_better_and_the_same_one_is_not():
    tests = compare_correlations(GOLD, NOISY, {"worse": NOISIER, "same": 3 * NOISY + 1})
    for measure in ("spearman", "pearson"):
        better, same = tests["worse"][measure], tests["same"][measure]
        values = [score_correlations(x, GOLD)[measure].value for x in (NOISY, NOISIER)]
        assert better.difference == pytest.approx(values[0] - values[1]) and better.difference > 0
        assert better.verdict == "significant by both tests"
        assert same.difference == pytest.approx(0) and same.p_bootstrap == same.p_randomized == 1
    assert tests["same"]["spearman"].verdict == "the same predictions"


def test_p_values_are_corrected_for_the_number_of_opponents():
    close = GOLD + RNG.normal(0, 0.75, 61)
    alone = compare_correlations(GOLD, NOISY, {"close": close})["close"]
    two = compare_correlations(GOLD, NOISY, {"close": close, "same": NOISY})["close"]
    for measure in ("spearman", "pearson"):
        for p, corrected in ((getattr(one[measure], name) for one in (alone, two)) for name in P_VALUES):
            assert corrected == pytest.approx(min(1, 2 * p)) and p < 1


def test_the_scale_of_a_system_changes_nothing():
    plain, scaled = (compare_correlations(GOLD, NOISY, {"x": x})["x"] for x in (NOISIER, 100 * NOISIER + 7))
    for measure in ("spearman", "pearson"):
        ours, theirs = plain[measure], scaled[measure]
        assert (ours.p_bootstrap, ours.p_randomized) == (theirs.p_bootstrap, theirs.p_randomized)
    curved = compare_correlations(GOLD, NOISY, {"x": np.exp(NOISIER)})["x"]["spearman"]
    assert curved.p_randomized == plain["spearman"].p_randomized


def test_the_scale_of_the_gold_similarities_changes_no_test():
    """Where answers are exchanged, ranks are correlated with ranks, and not with the similarities themselves."""
    close = NOISY + 0.3 * np.random.default_rng(11).standard_normal(len(NOISY))
    plain, scaled, curved = (
        compare_correlations(gold, NOISY, {"x": close})["x"] for gold in (GOLD, 100 * GOLD + 7, np.exp(3 * GOLD))
    )
    assert 0.001 < plain["spearman"].p_randomized < 0.99
    assert scaled["pearson"].p_randomized == plain["pearson"].p_randomized
    assert curved["spearman"] == plain["spearman"] == scaled["spearman"]


def test_systems_that_are_equally_good_are_seldom_different():
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(20):
        gold = rng.normal(0, 1, 53)
        one, two = gold + rng.normal(0, 1, 53), 7 * (gold + rng.normal(0, 1, 53))  # on another scale
        test = compare_correlations(gold, one, {"other": two})["other"]["spearman"]
        p_values.append((test.p_bootstrap, test.p_randomized))
    assert (np.array(p_values) < 0.05).sum(axis=0).max() <= 4


def test_too_few_pairs_are_refused():
    with pytest.raises(
        DataError, match="2 predicted similarities for 2 pairs; a correlation needs one for each, and 3"
    ):
        score_correlations([1, 2], [1, 2])
    with pytest.raises(DataError, match="3 predicted similarities for 4 pairs"):
        score_correlations([1, 2, 3], [1, 2, 3, 4])
