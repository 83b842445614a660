"""How far luck alone puts scores apart: two tests that ask for nothing but numbers."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import mean, variance

import numpy as np

NUM_PERMUTATIONS = 2_000
SIGNIFICANCE_LEVEL = 0.05
NUM_INTERVALS = 2_000  # of the integral, an even number
Block = Sequence[tuple[Hashable, float]]
"""Labels and their scores, such as may change places if the label does nothing."""


@dataclass(frozen=True)
class PermutationTestResult:
    """What shuffling says of a gap."""

    p_value: float
    """The share of shuffles that put the best and the worst label at least as far apart as they are."""
    min_p_value: float
    """The smallest share that these scores could have shown, had they been sorted by label."""

    @property
    def can_reach_significance(self) -> bool:
        """Whether there are scores enough for any gap to stand out."""
        return self.min_p_value < SIGNIFICANCE_LEVEL

    @property
    def significant(self) -> bool:
        return self.p_value < SIGNIFICANCE_LEVEL


def permutation_test(blocks: Sequence[Block]) -> PermutationTestResult:
    """A permutation test of the gap between the best and the worst mean, both picked after looking.

    Scores change places inside their block, so that what differs between blocks explains nothing.
    """
    rng = np.random.default_rng(0)
    labels = [label for block in blocks for label, _ in block]
    scores = np.array([score for block in blocks for _, score in block])
    tiled = [np.tile([score for _, score in block], (NUM_PERMUTATIONS, 1)) for block in blocks]
    permuted_scores = np.concatenate([rng.permuted(block, axis=1) for block in tiled], axis=1)  # (shuffles, scores)
    membership = np.array([[label == one for one in dict.fromkeys(labels)] for label in labels], float)
    averaging = membership / membership.sum(axis=0)  # (scores, labels): a column takes a mean
    observed_gap, permuted_gaps = (
        _spread_of_means(scores[None] @ averaging)[0],
        _spread_of_means(permuted_scores @ averaging),
    )
    return PermutationTestResult(_p_value(permuted_gaps, observed_gap), _p_value(permuted_gaps, permuted_gaps.max()))


def welch_t_test(sample_a: Sequence[float], sample_b: Sequence[float]) -> float:
    """The chance that means of samples of equal origin lie so far apart: Welch's t, both sides."""
    squared_errors = [variance(sample) / len(sample) for sample in (sample_a, sample_b)]
    gap = abs(mean(sample_a) - mean(sample_b))
    if sum(squared_errors) == 0:
        return 1.0 if gap == 0 else 0.0
    degrees_of_freedom = sum(squared_errors) ** 2 / sum(
        p**2 / (len(sample) - 1) for p, sample in zip(squared_errors, (sample_a, sample_b), strict=True)
    )
    return two_sided_p_value(gap / math.sqrt(sum(squared_errors)), degrees_of_freedom)


def two_sided_p_value(t: float, degrees_of_freedom: float) -> float:
    """How much of Student's distribution lies beyond ± t: one minus its integral between them, by Simpson's rule.

    With x = sqrt(free) tan(angle) its density (1 + x² / free)^(-(free + 1) / 2) becomes cos(angle)^(free - 1).
    """
    max_angle = math.atan(t / math.sqrt(degrees_of_freedom))
    angles = np.linspace(0.0, max_angle, NUM_INTERVALS + 1)
    densities = np.cos(angles) ** (degrees_of_freedom - 1)
    integral = (
        max_angle
        / NUM_INTERVALS
        / 3
        * (densities[0] + densities[-1] + 4 * densities[1:-1:2].sum() + 2 * densities[2:-1:2].sum())
    )
    normalizer = (
        math.sqrt(math.pi)
        / 2
        * math.exp(math.lgamma(degrees_of_freedom / 2) - math.lgamma((degrees_of_freedom + 1) / 2))
    )
    return max(0.0, 1.0 - float(integral) / normalizer)


def _spread_of_means(means: np.ndarray) -> np.ndarray:
    return np.asarray(means.max(axis=1) - means.min(axis=1))


def _p_value(gaps: np.ndarray, observed_gap: float) -> float:
    """Those that reach the limit; what is there counts as one of the shuffles, so that no share is 0."""
    return float((np.count_nonzero(gaps >= observed_gap - 1e-9) + 1) / (len(gaps) + 1))
