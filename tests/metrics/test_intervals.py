"""Intervals hold the truth as often as they say, within the possible range, and not for too few sentences."""

import numpy as np
import pytest

from regard.metrics import Score, corpus_bleu, corpus_chrf, corpus_rouge_l, corpus_ter, token_accuracy
from regard.metrics.intervals import MIN_SENTENCES
from tests.metrics.simulation import coverage, populations

POPULATIONS = list(populations())
WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "saw", "a", "red", "bird"]


@pytest.mark.parametrize("population", POPULATIONS[1::3], ids=lambda one: one.name)
def test_an_interval_holds_the_truth(population):
    assert 0.91 <= coverage(population, 20, 300) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("num_sentences", [20, 50, 200])
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: one.name)
def test_an_interval_holds_the_truth_in_nineteen_of_twenty_samples(population, num_sentences: int):
    assert 0.93 <= coverage(population, num_sentences, 4000) <= 0.97


@pytest.mark.parametrize("metric", [corpus_bleu, corpus_chrf, corpus_ter, corpus_rouge_l])
@pytest.mark.parametrize("wrong", [0, 1, 3, 12])
def test_no_interval_leaves_the_possible_range(metric, wrong: int):
    references = [" ".join(WORDS[n % 4 : 6 + n % 5]) for n in range(12)]
    hypotheses = ["x " * (3 + n) if n < wrong else reference for n, reference in enumerate(references)]
    score = metric(hypotheses, references)
    assert 0 <= score.low <= score.value <= score.high
    assert metric is corpus_ter or score.high <= 100
    assert score.low < score.high  # twelve perfect sentences are no proof of perfection


def test_a_perfect_score_ends_where_so_many_perfect_sentences_are_unlikely():
    score = token_accuracy([7] * 20, [7] * 20)
    assert (score.low, score.high) == pytest.approx((100 * 0.025 ** (1 / 20), 100))
    assert token_accuracy([0] * 20, [7] * 20).high == pytest.approx(100 - score.low)


def test_sentences_that_are_all_alike_are_no_proof_either():
    """Empty translations have a TER of 100 each; half of the tokens right in each sentence is 50."""
    rare = 1 - 0.025 ** (1 / 20)
    ter = corpus_ter([""] * 20, [f"a b c {n}" for n in range(20)])
    assert (ter.low, ter.value, ter.high) == pytest.approx((100 * (1 - rare), 100, 100 * (1 + rare)))
    half = token_accuracy([3] * 20, [6] * 20)
    assert (half.low, half.high) == pytest.approx((50 * (1 - rare), 50 * (1 + rare)))


def test_too_few_sentences_have_no_interval():
    few, enough = (token_accuracy([3, 4] * n, [5, 7] * n) for n in (MIN_SENTENCES // 2 - 1, MIN_SENTENCES // 2))
    assert few.low is few.high is None and few.signature.endswith("|ci:none,n<10")
    assert few.format_interval() == "too few sentences" and few.format_margin(1) == "58.3" and "±" not in str(few)
    assert "too few sentences for an interval" in few._repr_html_()
    assert Score(**{"name": few.name, **few.as_dict()}) == few
    assert enough.low < enough.value < enough.high and "±" in str(enough) and "," in enough._repr_html_()


def test_the_jackknife_of_a_mean_is_students_interval():
    from scipy import stats

    from regard.metrics.intervals import UNBOUNDED, ratio_interval

    values = np.array([0.3, 0.5, 0.1, 0.9, 0.4, 0.6, 0.45, 0.55, 0.2, 0.8, 0.5])  # hardly skewed
    low, high = ratio_interval(values, np.ones(11), UNBOUNDED)
    theirs = stats.t.interval(0.95, 10, values.mean(), stats.sem(values))
    assert (low, high) == pytest.approx(theirs, abs=0.02) and low <= theirs[0] and high >= theirs[1]
