"""Whether a difference between samples of scores is more than chance: tests that need nothing but numbers.

scipy.stats is imported where it is used: the import takes longer than a whole command that does without it.
"""

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import NamedTuple, TypeVar

import numpy as np

SIGNIFICANCE_LEVEL = 0.05
NUM_PERMUTATIONS = 2_000
NUM_RANGES = 100_000
Label = TypeVar("Label", bound=Hashable)
Block = Sequence[tuple[Hashable, float]]
"""Labels and their scores, which are exchangeable if the label has no effect."""


@dataclass(frozen=True)
class PermutationTestResult:
    """The result of a permutation test."""

    p_value: float
    """The share of permutations with at least the observed gap between the best and the worst label."""
    min_p_value: float
    """The smallest p-value that these scores could have had, had they been sorted by label."""

    @property
    def can_reach_significance(self) -> bool:
        """Whether there are enough scores for any gap to be significant."""
        return self.min_p_value < SIGNIFICANCE_LEVEL

    @property
    def significant(self) -> bool:
        return self.p_value < SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class SpearmanTestResult:
    """A rank correlation, and the share of permutations that are at least as far from 0."""

    rho: float
    p_value: float

    @property
    def significant(self) -> bool:
        return self.p_value < SIGNIFICANCE_LEVEL


def permutation_test(blocks: Sequence[Block]) -> PermutationTestResult:
    """A permutation test of the gap between the best and the worst mean, both selected after the fact.

    Scores are permuted within their block, so that differences between blocks explain nothing.
    """
    rng = np.random.default_rng(0)
    labels = [label for block in blocks for label, _ in block]
    scores = np.array([score for block in blocks for _, score in block])
    tiled = [np.tile([score for _, score in block], (NUM_PERMUTATIONS, 1)) for block in blocks]
    permuted_scores = np.concatenate([rng.permuted(block, axis=1) for block in tiled], axis=1)  # (permutations, scores)
    membership = np.array([[label == column for column in dict.fromkeys(labels)] for label in labels], float)
    averaging = membership / membership.sum(axis=0)  # (scores, labels): a column takes a mean
    observed_gap = _range_of_means(scores[None] @ averaging)[0]
    permuted_gaps = _range_of_means(permuted_scores @ averaging)
    return PermutationTestResult(_p_value(permuted_gaps, observed_gap), _p_value(permuted_gaps, permuted_gaps.max()))


def _range_of_means(means: np.ndarray) -> np.ndarray:
    return np.asarray(means.max(axis=1) - means.min(axis=1))


def _p_value(gaps: np.ndarray, observed_gap: float) -> float:
    """The share of gaps that reach the observed one; the observation counts as a permutation, so no share is 0."""
    return float((np.count_nonzero(gaps >= observed_gap - 1e-9) + 1) / (len(gaps) + 1))


def welch_t_test(sample_a: Sequence[float], sample_b: Sequence[float]) -> float:
    """The two-sided p-value of Welch's t-test for equal means; samples without any variance differ or not."""
    from scipy import stats

    means, deviations = (mean(sample_a), mean(sample_b)), (stdev(sample_a), stdev(sample_b))
    if deviations == (0, 0):
        return 1.0 if means[0] == means[1] else 0.0
    test = stats.ttest_ind_from_stats(
        means[0], deviations[0], len(sample_a), means[1], deviations[1], len(sample_b), equal_var=False
    )
    return float(test.pvalue)


def spearman_correlation(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> float:
    """Spearman's rank correlation, with mean ranks for ties; NaN where one of the two is constant."""
    from scipy import stats

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(stats.spearmanr(x, y).statistic)


def spearman_test(x: Sequence[float], y: Sequence[float]) -> SpearmanTestResult:
    """A permutation test of the rank correlation, which is 0 where one of the samples is constant."""
    from scipy import stats

    rho = spearman_correlation(x, y)
    if math.isnan(rho):
        return SpearmanTestResult(0.0, 1.0)
    ranks, other_ranks = (stats.rankdata(sample) - (len(sample) + 1) / 2 for sample in (x, y))
    permuted = np.random.default_rng(0).permuted(np.tile(other_ranks, (NUM_PERMUTATIONS, 1)), axis=1) @ ranks
    return SpearmanTestResult(rho, _p_value(np.abs(permuted), abs(float(ranks @ other_ranks))))


def tukey_p_value(samples: Sequence[Sequence[float]], a: int, b: int) -> float:
    """Tukey's test of two means among several, with the variance pooled over all samples.

    It holds for any pair, so also for one that was selected by its means.
    """
    degrees = sum(len(sample) - 1 for sample in samples)
    variance = sum(stdev(sample) ** 2 * (len(sample) - 1) for sample in samples if len(sample) > 1) / max(1, degrees)
    gap = abs(mean(samples[a]) - mean(samples[b]))
    if variance == 0:
        return 1.0 if gap == 0 else 0.0
    studentized = gap / math.sqrt(variance / 2 * (1 / len(samples[a]) + 1 / len(samples[b])))
    return _p_value(_studentized_ranges(len(samples), degrees), studentized)


@functools.lru_cache(maxsize=64)
def _studentized_ranges(count: int, degrees: int) -> np.ndarray:
    """Draws of the studentized range of normal means: scipy's integral takes 20 ms for each of many values."""
    rng = np.random.default_rng(0)
    return np.asarray(
        np.ptp(rng.standard_normal((NUM_RANGES, count)), axis=1) / np.sqrt(rng.chisquare(degrees, NUM_RANGES) / degrees)
    )


class HolmStep(NamedTuple):
    """One p-value of several: what it is multiplied by, and the result."""

    factor: int
    """The tests that are left when it is the smallest of them."""
    p_value: float
    """Never below that of a step before."""


def holm_steps(p_values: Mapping[Label, float]) -> dict[Label, HolmStep]:
    """The steps of Holm's method, the smallest p-value first.  Holm 1979."""
    steps: dict[Label, HolmStep] = {}
    largest = 0.0
    for rank, label in enumerate(sorted(p_values, key=lambda label: p_values[label])):
        factor = len(p_values) - rank
        largest = max(largest, min(1.0, factor * p_values[label]))
        steps[label] = HolmStep(factor, largest)
    return steps


def holm_correction(p_values: Mapping[Label, float]) -> dict[Label, float]:
    """p-values corrected for being several: any is below 0.05 by chance in one case of twenty."""
    steps = holm_steps(p_values)
    return {label: steps[label].p_value for label in p_values}
