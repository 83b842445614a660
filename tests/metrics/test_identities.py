"""Scores of sums are sacreBLEU's, and intervals and p-values are the textbook's where a textbook has them."""

import functools
import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from scipy import stats

from regard.errors import DataError
from regard.metrics import corpus_bleu, sentence_bleu, sentence_rouge_l
from regard.metrics.corpus_sums import score_corpus, score_sums, sentence_statistics
from regard.metrics.intervals import (
    ERROR_SHARE,
    PERCENT,
    PERCENT_ERRORS,
    UNBOUNDED,
    Spread,
    jackknife_interval,
    make_score,
    ratio_interval,
    ratio_score,
    widen_for_sample_size,
)
from regard.metrics.labels.statistics import CountedScore, TableCounts
from regard.metrics.paired import bleu_difference
from regard.metrics.rouge import lcs_length
from regard.metrics.score import Score
from regard.metrics.significance import PAIRED_TESTS, PairedTestResult, compare_with_selected
from regard.metrics.tokenization import Tokenization

LINES = [
    ("", ""),
    ("", "a"),
    ("a", ""),
    ("a", "a"),
    ("b", "a"),
    ("ab", "ab"),
    ("a b", "a b c"),
    ("the cat sat on a mat", "the cat sat on the mat"),
    ("x y z", "p q r s t"),
    ("w x y z", "p q r s t"),
    ("one two three four five six", "one two three four five"),
    ("a a a a a a a", "a"),
]


@pytest.mark.parametrize("metric", [BLEU(force=True), CHRF(), TER()], ids=lambda metric: type(metric).__name__)
def test_scores_of_sums_are_those_of_sacrebleu_for_any_corpus(metric):
    corpora = [*itertools.combinations(LINES, 1), *itertools.combinations(LINES, 2), LINES]
    for corpus in corpora:
        rows = sentence_statistics(metric, *zip(*corpus, strict=True))
        expected = metric.corpus_score([pair[0] for pair in corpus], [[pair[1] for pair in corpus]]).score
        assert score_corpus(metric, rows) == pytest.approx(expected)
        assert float(score_sums(metric, rows.sum(axis=0))) == pytest.approx(expected, abs=1e-9)
    sums = np.stack([sentence_statistics(metric, *zip(*pairs, strict=True)).sum(axis=0) for pairs in corpora[:66]])
    alone = [float(score_sums(metric, row)) for row in sums]
    assert score_sums(metric, sums.reshape(6, 11, -1)).flatten().tolist() == pytest.approx(alone)


def plain_lcs(first: Sequence[str], second: Sequence[str]) -> int:
    @functools.cache
    def length(i: int, j: int) -> int:
        if i == len(first) or j == len(second):
            return 0
        if first[i] == second[j]:
            return 1 + length(i + 1, j + 1)
        return max(length(i + 1, j), length(i, j + 1))

    return length(0, 0)


def test_the_longest_common_subsequence_is_that_of_its_definition():
    rng = random.Random(3)
    for _ in range(200):
        first, second = ("".join(rng.choices("abc", k=rng.randint(0, 9))) for _ in range(2))
        assert lcs_length(first, second) == plain_lcs(first, second)


def test_rouge_counts_tokens_that_hold_a_letter_or_a_digit():
    chinese = Tokenization("zh", language="zh")
    assert chinese.split("3.5 元!") == ["3.5", "元", "!"]
    assert sentence_rouge_l("3.5 元!", "3.5 块", chinese) == pytest.approx(50)
    assert sentence_rouge_l("元!", "元?", chinese) == 100


def spread(error: float, n: int = 23, quantile: float = 2.07, skewness: float = 0.0) -> Spread:
    return Spread(np.array(error), quantile, np.array(skewness), n)


@pytest.mark.parametrize("value", [3.0, 50.0, 97.0])
def test_percents_are_symmetric_in_their_log_odds(value: float):
    for error in (0.01, 1.0, 20.0):
        low, high = PERCENT.interval(np.array(value), spread(error))
        odds = [math.log(x / (100 - x)) for x in (float(low), value, float(high))]
        assert odds[2] - odds[1] == pytest.approx(odds[1] - odds[0])
        assert error > 0.01 or (high - value) == pytest.approx(2.07 * error, rel=0.01)


@pytest.mark.parametrize(("scale", "unit"), [(ERROR_SHARE, 1), (PERCENT_ERRORS, 100)])
def test_errors_are_symmetric_in_their_logarithm(scale, unit: float):
    for value, error in itertools.product((0.03, 1.0, 130.0), (1e-5, 0.1, 2000.0)):
        low, high = scale.interval(np.array(value), spread(error))
        assert float(high) / value == pytest.approx(value / float(low)) and low < value < high < math.inf
        assert error > 1e-5 or (high - value) == pytest.approx(2.07 * error, rel=0.01)
    low, high = scale.interval(np.array(0.0), spread(0.0))
    assert (float(low), float(high)) == pytest.approx((0, unit * (1 - 0.025 ** (1 / 23))))


@pytest.mark.parametrize("skewness", [-2.0, -0.3, 0.0, 0.7, 3.0])
@pytest.mark.parametrize("n", [11, 53, 997])
def test_skewness_is_removed_by_halls_cubic(skewness: float, n: int):
    """Its own cubic of a bound is the quantile of Student's t, on the side that is the wider one."""
    low, high = UNBOUNDED.interval(np.array(5.0), spread(1.7, n, 2.1, skewness))
    bounds = [(5 - float(bound)) / 1.7 for bound in (high, low)]
    for bound, quantile in zip(bounds, (-2.1, 2.1), strict=True):
        s = bound / math.sqrt(n)
        cubic = math.sqrt(n) * (s + skewness * s**2 / 3 + skewness**2 * s**3 / 27 + skewness / (6 * n))
        assert cubic == pytest.approx(quantile, abs=1e-4) or bound == pytest.approx(quantile)
        assert abs(bound) >= 2.1 - 1e-9
    assert skewness == 0 or max(map(abs, bounds)) > 2.1 + 1e-3


def test_many_scores_have_the_intervals_of_each():
    rng = np.random.default_rng(3)
    numerators, sizes = rng.gamma(2, 1, (17, 2, 3)), rng.integers(1, 9, 17).astype(float)
    together = ratio_interval(numerators, sizes, UNBOUNDED)
    for i, j in np.ndindex(2, 3):
        alone = ratio_interval(numerators[:, i, j], sizes, UNBOUNDED)
        assert (together.low[i, j], together.high[i, j]) == pytest.approx((float(alone.low), float(alone.high)))


def test_a_ratio_of_sums_has_the_interval_of_its_jackknife():
    rng = np.random.default_rng(5)
    numerators, sizes = rng.gamma(2, 1, 13), rng.integers(1, 9, 13).astype(float)
    without = np.array([np.delete(numerators, i).sum() / np.delete(sizes, i).sum() for i in range(13)])
    error = math.sqrt(12 / 13 * ((without - without.mean()) ** 2).sum())
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    value = numerators.sum() / sizes.sum()
    low, high = ratio_interval(numerators, sizes, ERROR_SHARE)
    factor = math.exp(stats.t.ppf(0.975, effective - 1) * error / value)
    assert (float(low), float(high)) == pytest.approx((value / factor, value * factor))
    same = jackknife_interval(np.array(value), without, sizes, ERROR_SHARE)
    assert (float(same.low), float(same.high)) == pytest.approx((float(low), float(high)))
    assert ratio_interval(numerators[:9], sizes[:9], ERROR_SHARE) is None
    assert ratio_interval(numerators[:10], sizes[:10], ERROR_SHARE) is not None


def test_sentences_without_a_size_count_for_nothing():
    """An interval over them would be too narrow."""
    numerators, sizes = [3, 1, 2, 5, 4, 2, 3, 1, 6, 2, 4], [5, 4, 3, 6, 5, 4, 3, 2, 7, 5, 6]
    whole = ratio_score("share", numerators, sizes, "unit:x")
    assert ratio_score("share", [*numerators, 0, 0], [*sizes, 0, 0], "unit:x") == whole
    assert whole.value == pytest.approx(100 * sum(numerators) / sum(sizes))
    assert ratio_score("share", [*numerators[:9], 0], [*sizes[:9], 0], "unit:x").low is None
    assert whole.signature == f"unit:x|{PERCENT.signature}"
    assert make_score("x", 1.0, None, "s", PERCENT) == Score("x", 1.0, None, None, "s|ci:none,n<10")


def test_a_difference_of_scores_stays_within_a_hundred():
    references = [f"a{n} b{n} c{n} d{n} e{n}" for n in range(12)]
    worse = [f"a{n} b{n} c{n} d{n} e{n}" if n == 3 else "z" * (n + 1) for n in range(12)]
    better, reverse = bleu_difference(references, worse, references), bleu_difference(worse, references, references)
    assert (better.high, reverse.low) == (100, -100) and better.low < better.value < 100
    assert (better.low, better.value) == pytest.approx((-reverse.high, -reverse.value))
    for systems in ((references[:-1], references), (references, references[:-1])):
        with pytest.raises(DataError, match="11 translations but 12 references"):
            bleu_difference(*systems, references)


def linear_statistics(values: np.ndarray) -> np.ndarray:
    """Statistics of TER in which each sentence has 100 words: its score is then the mean of the values."""
    return np.stack([values, np.full(len(values), 100.0)], axis=1)


def counted(systems: Sequence[np.ndarray]) -> list[CountedScore]:
    """The scores of systems by TER."""
    measure = functools.partial(score_sums, TER())
    return [
        CountedScore("TER", TableCounts(rows, rows[:, 1]), measure, [""] * len(rows), [""] * len(rows), "sentences")
        for rows in systems
    ]


@pytest.mark.parametrize("n", [11, 23, 53])
def test_of_a_mean_both_bootstraps_have_students_p_value(n: int):
    rng = np.random.default_rng(n)
    noise = rng.normal(0, 10, n)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * 10
    first = rng.normal(50, 3, n)
    draws = PAIRED_TESTS["bs"].draw(n, 7)
    for target in (0.02, 0.05, 0.1):
        gap = stats.t.ppf(1 - target / 2, n - 1) * 10 / math.sqrt(n)
        pair = linear_statistics(first), linear_statistics(first + noise + gap)
        assert PAIRED_TESTS["bs"].p_values(TER(), *pair, draws).p == pytest.approx(target, abs=0.025)
        alone, corrected = compare_with_selected(counted(pair), 0)
        assert alone[0] == corrected[0] == 1
        assert alone[1] == corrected[1] == pytest.approx(target, abs=0.025)


def test_samples_are_widened_as_students_t_is():
    for n in (2, 5, 11, 10_000):
        expected = math.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975)
        assert widen_for_sample_size(n) == pytest.approx(expected)
    assert widen_for_sample_size(1) == widen_for_sample_size(2)


def test_a_selected_system_is_compared_with_all_in_any_order():
    rng = np.random.default_rng(3)
    base = rng.normal(50, 5, 101)
    shifts = (0.0, 0.1, 4.0, 1.5)
    systems = [linear_statistics(base + shift + rng.normal(0, 8, 101)) for shift in shifts]
    systems.append(systems[0].copy())
    alone, corrected = compare_with_selected(counted(systems), 0)
    assert (corrected >= alone).all() and alone[0] == alone[4] == corrected[4] == 1
    assert corrected[2] > alone[2] and alone[2] < 0.05
    order = [2, 4, 0, 1, 3]
    permuted = compare_with_selected(counted([systems[i] for i in order]), order.index(0))
    assert permuted[0] == pytest.approx(alone[order]) and permuted[1] == pytest.approx(corrected[order])
    copies = compare_with_selected(counted([systems[0], systems[0].copy(), systems[0].copy()]), 1)
    assert copies[0].tolist() == copies[1].tolist() == [1, 1, 1]
    few = compare_with_selected(counted([systems[0], systems[2]]), 0)
    assert few[0][1] == pytest.approx(alone[2]) and few[1][1] <= corrected[2]


def test_the_correction_is_tukeys_for_equal_spreads():
    """The largest of all studentized differences of independent means is Tukey's studentized range."""
    rng = np.random.default_rng(7)
    n, systems = 401, 4
    noise = rng.normal(0, 1, (systems, n))
    noise = np.linalg.qr((noise - noise.mean(axis=1, keepdims=True)).T)[0].T * math.sqrt(n)
    gap = 0.18  # of means whose standard error is 1 / √n each
    rows = [linear_statistics(50 + noise[k] + (gap if k == 1 else 0)) for k in range(systems)]
    _, corrected = compare_with_selected(counted(rows), 0)
    expected = stats.studentized_range.sf(gap * math.sqrt(n), systems, np.inf)
    assert corrected[1] == pytest.approx(expected, abs=0.02) and 0.02 < expected < 0.1


@pytest.mark.parametrize(
    ("result", "significant", "text"),
    [
        ({"p": 0.049}, True, "p = 0.05"),
        ({"p": 0.05}, False, "p = 0.05"),
        ({"p": 0.01, "adjusted_p": 0.06}, False, "p = 0.06"),
        ({"p": 0.01, "num_differing": 5}, False, "p = 0.01 (sentences that differ: 5)"),
        ({"p": 0.01, "num_differing": 6}, True, "p = 0.01"),
        ({"p": 0.01, "difference": 0.0}, False, "p = 0.01"),
        ({"p": 0.3, "num_differing": 0}, False, "the same translations"),
        ({"p": None}, False, "the same translations"),
    ],
)
def test_a_verdict_needs_a_small_p_a_difference_and_enough_sentences(result, significant: bool, text: str):
    test = PairedTestResult("BLEU", 30.0, signature="", **{"difference": 1.0, **result})
    assert test.significant == significant and test.format_p_value(2) == text


def test_a_margin_is_half_of_the_interval():
    score = Score("BLEU", 30.0, 28.0, 31.0, "s")
    assert score.format_margin(1) == "30.0 ± 1.5" and score.format_interval() == "28.00 to 31.00"
    assert score._repr_html_() == "<b>BLEU</b> 30.00 <small>[28.00, 31.00]</small><br><small>s</small>"
    assert "no interval" in Score("a & b", 30.0, 28.0, None, "<s>")._repr_html_()
    assert "a &amp; b" in Score("a & b", 30.0, None, 31.0, "<s>")._repr_html_()
    assert str(score) == "BLEU 30.00 ± 1.50 [28.00, 31.00]  s"
    assert corpus_bleu(["a b c d"], ["a b c d"]).value == 100
    assert sentence_bleu("a b", "a b") == pytest.approx(100)  # orders that a short sentence lacks are not counted


@pytest.mark.parametrize("selected", [0, 1, 2])
def test_a_difference_is_as_significant_from_either_side(selected: int):
    rng = np.random.default_rng(11)
    base = rng.normal(50, 5, 53)
    systems = [linear_statistics(base + shift + rng.normal(0, 4, 53)) for shift in (0.0, 1.0, 2.0)]
    for other in range(3):
        mine, theirs = (compare_with_selected(counted(systems), number) for number in (selected, other))
        for one, two in zip(mine, theirs, strict=True):
            assert one[other] == two[selected] and one[selected] == 1
            assert other == selected or 0 < one[other] < 1
