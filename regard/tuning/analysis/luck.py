"""How far luck alone puts scores apart: two tests that ask for nothing but numbers."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import mean, variance

import numpy as np

SHUFFLES = 2_000
SIGNIFICANT = 0.05
PARTS = 2_000  # of the integral, an even number
Block = Sequence[tuple[Hashable, float]]
"""Labels and their scores, such as may change places if the label does nothing."""


@dataclass(frozen=True)
class Chance:
    """What shuffling says of a gap."""

    p: float
    """The share of shuffles that put the best and the worst label at least as far apart as they are."""
    least: float
    """The smallest share that these scores could have shown, had they been sorted by label."""

    @property
    def tells(self) -> bool:
        """Whether there are scores enough for any gap to stand out."""
        return self.least < SIGNIFICANT

    @property
    def stands_out(self) -> bool:
        return self.p < SIGNIFICANT


def shuffled(blocks: Sequence[Block]) -> Chance:
    """A permutation test of the gap between the best and the worst mean, both picked after looking.

    Scores change places inside their block, so that what differs between blocks explains nothing.
    """
    rng = np.random.default_rng(0)
    labels = [label for block in blocks for label, _ in block]
    scores = np.array([score for block in blocks for _, score in block])
    tiled = [np.tile([score for _, score in block], (SHUFFLES, 1)) for block in blocks]
    moved = np.concatenate([rng.permuted(block, axis=1) for block in tiled], axis=1)  # (shuffles, scores)
    member = np.array([[label == one for one in dict.fromkeys(labels)] for label in labels], float)
    share = member / member.sum(axis=0)  # (scores, labels): a column takes a mean
    seen, gaps = _gap(scores[None] @ share)[0], _gap(moved @ share)
    return Chance(_share(gaps, seen), _share(gaps, gaps.max()))


def welch(one: Sequence[float], two: Sequence[float]) -> float:
    """The chance that means of samples of equal origin lie so far apart: Welch's t, both sides."""
    parts = [variance(sample) / len(sample) for sample in (one, two)]
    gap = abs(mean(one) - mean(two))
    if sum(parts) == 0:
        return 1.0 if gap == 0 else 0.0
    free = sum(parts) ** 2 / sum(p**2 / (len(sample) - 1) for p, sample in zip(parts, (one, two), strict=True))
    return outside(gap / math.sqrt(sum(parts)), free)


def outside(t: float, free: float) -> float:
    """How much of Student's distribution lies beyond ± t: one minus its integral between them, by Simpson's rule.

    With x = sqrt(free) tan(angle) its density (1 + x² / free)^(-(free + 1) / 2) becomes cos(angle)^(free - 1).
    """
    end = math.atan(t / math.sqrt(free))
    at = np.linspace(0.0, end, PARTS + 1)
    height = np.cos(at) ** (free - 1)
    inside = end / PARTS / 3 * (height[0] + height[-1] + 4 * height[1:-1:2].sum() + 2 * height[2:-1:2].sum())
    whole = math.sqrt(math.pi) / 2 * math.exp(math.lgamma(free / 2) - math.lgamma((free + 1) / 2))
    return max(0.0, 1.0 - float(inside) / whole)


def _gap(means: np.ndarray) -> np.ndarray:
    return np.asarray(means.max(axis=1) - means.min(axis=1))


def _share(gaps: np.ndarray, limit: float) -> float:
    """Those that reach the limit; what is there counts as one of the shuffles, so that no share is 0."""
    return float((np.count_nonzero(gaps >= limit - 1e-9) + 1) / (len(gaps) + 1))
