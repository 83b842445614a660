"""Intervals hold the truth as often as they say, within the possible range, and not for too few sentences."""

import math

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.metrics import Score, corpus_bleu, corpus_chrf, corpus_rouge_l, corpus_ter, token_accuracy
from regard.metrics.corpus_sums import corpus_interval, sentence_statistics
from regard.metrics.intervals import (
    ERROR_SHARE,
    MIN_SENTENCES,
    PERCENT,
    PERCENT_ERRORS,
    UNBOUNDED,
    Spread,
    jackknife_interval,
)
from tests.metrics.simulation import coverage, populations

POPULATIONS = list(populations())
WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "saw", "a", "red", "bird"]


@pytest.mark.parametrize("population", POPULATIONS[1::3], ids=lambda one: one.name)
def test_an_interval_holds_the_truth(population):
    assert 0.91 <= coverage(population, 20, 300) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("num_sentences", [20, 50, 200])
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: one.name)
def test_an_interval_holds_the_truth_in_nineteen_of_twenty_samples(population, num_sentences: int, record_property):
    share = coverage(population, num_sentences, 4000)
    record_property("coverage", f"{share:.3f}")
    assert 0.93 <= share <= 0.97


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
    assert few.format_interval() == "none: too few examples" and few.format_margin(1) == "58.3" and "±" not in str(few)
    assert "no interval: too few examples" in few._repr_html_()
    assert Score(**{"name": few.name, **few.as_dict()}) == few
    assert enough.low < enough.value < enough.high and "±" in str(enough) and "," in enough._repr_html_()


def test_the_jackknife_of_a_mean_is_students_interval():
    from scipy import stats

    from regard.metrics.intervals import UNBOUNDED, ratio_interval

    values = np.array([0.3, 0.5, 0.1, 0.9, 0.4, 0.6, 0.45, 0.55, 0.2, 0.8, 0.5])  # hardly skewed
    low, high = ratio_interval(values, np.ones(11), UNBOUNDED)
    theirs = stats.t.interval(0.95, 10, values.mean(), stats.sem(values))
    assert (low, high) == pytest.approx(theirs, abs=0.02) and low <= theirs[0] and high >= theirs[1]


def spread(error: float, n: int = 23) -> Spread:
    return Spread(np.array(error), 2.07, np.array(0.0), n)


@pytest.mark.parametrize(("scale", "unit"), [(PERCENT, 100.0), (PERCENT_ERRORS, 100.0), (ERROR_SHARE, 1.0)])
def test_a_billionth_of_the_unit_is_variation_and_less_is_none(scale, unit: float):
    threshold = 1e-9 * unit
    for error, varies in ((threshold, True), (0.999 * threshold, False), (0.0, False)):
        assert bool(spread(error).is_zero(unit)) == (not varies)
        low, high = scale.interval(np.array(0.5 * unit), spread(error))
        rare = 1 - 0.025 ** (1 / 23)
        expected = 2 * 2.07 * error if varies else unit * rare * (1 if unit == 100 and scale is PERCENT else 1.5)
        assert float(high - low) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("value", "inside"), [(0.0, False), (0.9e-10, False), (1.5e-10, True), (100 - 1.5e-10, True), (100.0, False)]
)
def test_only_a_score_between_none_and_all_has_odds(value: float, inside: bool):
    low, high = PERCENT.interval(np.array(value), spread(1.0))
    rare = 1 - 0.025 ** (1 / 23)
    if inside:
        assert (float(low), float(high)) == pytest.approx((0, 100))
    else:
        assert (float(low), float(high)) == pytest.approx((value * (1 - rare), value + (100 - value) * rare))


@pytest.mark.parametrize("scale", [PERCENT_ERRORS, ERROR_SHARE])
def test_only_errors_above_none_have_a_logarithm(scale):
    rare = 1 - 0.025 ** (1 / 23)
    for share, inside in ((0.9e-12, False), (1e-12, False), (1.1e-12, True)):
        low, high = scale.interval(np.array(share * scale.unit), spread(1e-12 * scale.unit * 1e4))
        expected = math.inf if inside else scale.unit * rare
        assert float(high) == pytest.approx(expected) if not inside else float(high) > 1e100
        assert float(low) == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("metric", [BLEU(force=True), CHRF(), TER()], ids=lambda metric: type(metric).__name__)
def test_an_interval_is_that_of_scores_without_each_sentence(metric):
    references = [" ".join(WORDS[n % 4 : 6 + n % 5]) for n in range(13)]
    hypotheses = [reference.replace("the", "a", n % 3).replace("mat", "") for n, reference in enumerate(references)]
    statistics = sentence_statistics(metric, hypotheses, references)
    without = [
        metric.corpus_score(hypotheses[:n] + hypotheses[n + 1 :], [references[:n] + references[n + 1 :]]).score
        for n in range(13)
    ]
    value = np.array(metric.corpus_score(hypotheses, [references]).score)
    expected = jackknife_interval(value, np.array(without), statistics[:, 1], PERCENT)
    found = corpus_interval(metric, statistics, PERCENT)
    assert (float(found.low), float(found.high)) == pytest.approx((float(expected.low), float(expected.high)))


def test_sentences_of_any_size_weigh_as_their_number():
    """Ten equal sizes, even none, are ten sentences; one that is far longer leaves fewer."""
    rng = np.random.default_rng(3)
    without = 50 + rng.normal(0, 0.1, 10)
    widths = []
    for sizes in (np.zeros(10), np.full(10, 7.0), np.array([7.0] * 9 + [0.0]), np.array([1.0] * 9 + [30.0])):
        low, high = jackknife_interval(np.array(50.0), without, sizes, UNBOUNDED)
        widths.append(float(high - low))
    assert widths[0] == widths[1] < widths[2] < widths[3]
    assert jackknife_interval(np.array(50.0), without[:9], np.ones(9), UNBOUNDED) is None


def test_scores_that_do_not_vary_have_no_skewness():
    low, high = jackknife_interval(np.array(5.0), np.full(11, 5.0), np.ones(11), UNBOUNDED)
    assert (float(low), float(high)) == (5, 5)
