"""95% confidence intervals of corpus scores over sentences: the jackknife with Student's t.

The score without each sentence in turn gives the standard error, from sums and without resampling: it is exact, has no
seed, and costs one pass. Where a score has bounds, the interval is computed on a scale without any (logit, log) and
mapped back, so it never leaves the possible range. `benchmarks/calibration.py` measures how often it holds the truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.metrics.score import Score

FloatArray = NDArray[np.float64]
MIN_SENTENCES = 10
"""Sentences below which no confidence interval is given."""
NO_INTERVAL = f"ci:none,n<{MIN_SENTENCES}"
TAIL = 0.025
"""The probability on each side of the interval."""


class Interval(NamedTuple):
    """The bounds of an interval, for one score or for an array of scores."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Spread:
    """How a score varies over samples of sentences, estimated by the jackknife."""

    standard_error: FloatArray
    quantile: float
    """Of Student's t, with the effective number of sentences: long ones count more."""
    skewness: FloatArray
    num_sentences: int

    def is_zero(self, unit: float) -> NDArray[np.bool_]:
        """Where the jackknife sees no variation, on a scale of this unit."""
        return np.asarray(self.standard_error < 1e-9 * unit)

    @property
    def rare_share(self) -> float:
        """The share of other sentences that n equal ones still leave possible, with a probability of 2.5%."""
        return float(1 - TAIL ** (1 / self.num_sentences))


class Scale(Protocol):
    """The scale on which the distribution of a score is close to Student's t."""

    @property
    def signature(self) -> str: ...

    def interval(self, value: FloatArray, spread: Spread) -> Interval: ...


class UnboundedScale:
    """The score itself; both sides are widened where its skewness requires it.

    Hall 1992, On the removal of skewness by transformation: a cubic whose inverse is known. The interval holds the
    symmetric one as well, because the skewness of a small sample is underestimated.
    """

    signature = "ci:jackknife-t,skewness"

    def interval(self, value: FloatArray, spread: Spread) -> Interval:
        error, quantile = spread.standard_error, spread.quantile
        upper = np.maximum(quantile, _unskew(quantile, spread))
        lower = np.minimum(-quantile, _unskew(-quantile, spread))
        return Interval(value - error * upper, value - error * lower)


class PercentScale:
    """Scores from 0 to 100, on the scale of the logit."""

    signature = "ci:jackknife-t,logit"

    def interval(self, value: FloatArray, spread: Spread) -> Interval:
        share, rare = np.clip(value / 100, 0, 1), spread.rare_share
        inside = (share > 1e-12) & (share < 1 - 1e-12) & ~spread.is_zero(100)
        middle = np.where(inside, share, 0.5)
        log_odds = np.log(middle / (1 - middle))
        margin = spread.quantile * spread.standard_error / 100 / (middle * (1 - middle))
        low = np.where(inside, _expit(log_odds - margin), share * (1 - rare))
        high = np.where(inside, _expit(log_odds + margin), share + (1 - share) * rare)
        return Interval(100 * low, 100 * high)


class NonNegativeScale:
    """Scores from 0 to infinity, on the scale of the logarithm; `unit` is what one sentence without any match has."""

    signature = "ci:jackknife-t,log"

    def __init__(self, unit: float) -> None:
        self.unit = unit

    def interval(self, value: FloatArray, spread: Spread) -> Interval:
        inside = (value > 1e-12 * self.unit) & ~spread.is_zero(self.unit)
        middle = np.where(inside, value, 1.0)
        factor = np.exp(np.minimum(spread.quantile * spread.standard_error / middle, 700))
        rare = spread.rare_share
        low = np.where(inside, middle / factor, value * (1 - rare))
        return Interval(low, np.where(inside, middle * factor, value + self.unit * rare))


UNBOUNDED, PERCENT = UnboundedScale(), PercentScale()
ERROR_SHARE, PERCENT_ERRORS = NonNegativeScale(unit=1), NonNegativeScale(unit=100)
"""Errors per word or per hundred words, as TER, which may be more than 1 and 100.

Where every sentence is perfect, or 0, or the same, the jackknife sees no variation. The interval then ends where n such
sentences still have a probability of 2.5%: the share of others is at most 1 - 0.025^(1/n).
"""


def jackknife_interval(
    value: FloatArray, leave_one_out: FloatArray, sizes: FloatArray, scale: Scale
) -> Interval | None:
    """The interval of scores (…) from those without each sentence (n, …) and the sizes of sentences (n,).

    None with fewer than MIN_SENTENCES sentences.
    """
    n = len(sizes)
    if n < MIN_SENTENCES:
        return None
    weights = sizes if sizes.any() else np.ones(n)
    influence = leave_one_out.mean(axis=0) - leave_one_out
    variance = np.square(influence).mean(axis=0)
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    spread = Spread(
        standard_error=np.sqrt((n - 1) * variance),
        quantile=_t_quantile(float(weights.sum() ** 2 / np.square(weights).sum()) - 1),
        skewness=(influence**3).mean(axis=0) / deviation**3,
        num_sentences=n,
    )
    return scale.interval(np.asarray(value), spread)


def ratio_interval(numerators: FloatArray, denominators: FloatArray, scale: Scale) -> Interval | None:
    """The interval of Σ numerators / Σ denominators over sentences: (n, …) and (n,)."""
    if len(denominators) < MIN_SENTENCES:
        return None
    total, size = numerators.sum(axis=0), denominators.sum()
    left_out_sizes = (size - denominators).reshape(-1, *[1] * (numerators.ndim - 1))
    return jackknife_interval(total / size, (total - numerators) / left_out_sizes, denominators, scale)


def ratio_score(name: str, numerators: Sequence[float], denominators: Sequence[float], signature: str) -> Score:
    """100 · Σ numerators / Σ denominators, a share from 0 to 100, with its interval."""
    numerator, denominator = 100 * np.asarray(numerators, float), np.asarray(denominators, float)
    occupied = denominator > 0
    interval = ratio_interval(numerator[occupied], denominator[occupied], PERCENT)
    return make_score(name, float(numerator.sum() / denominator.sum()), interval, signature, PERCENT)


def make_score(name: str, value: float, interval: Interval | None, signature: str, scale: Scale) -> Score:
    """A score whose signature says which interval it has."""
    if interval is None:
        return Score(name, value, None, None, f"{signature}|{NO_INTERVAL}")
    return Score(name, value, float(interval.low), float(interval.high), f"{signature}|{scale.signature}")


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The interval of a mean by Student's t: its bounds, for two values or more that are normally distributed."""
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / np.sqrt(len(values))
    margin = _t_quantile(len(values) - 1) * float(error)
    return mean - margin, mean + margin


def widen_for_sample_size(num_sentences: int) -> float:
    """How much wider Student's t is than the bootstrap's spread, which divides by n and has normal tails."""
    n = max(2, num_sentences)
    return float(np.sqrt(n / (n - 1))) * _t_quantile(n - 1) / _t_quantile(1e9)


def _t_quantile(degrees_of_freedom: float) -> float:
    from scipy.special import stdtrit  # scipy.stats takes longer to import than a short command to run

    return float(stdtrit(max(1.0, degrees_of_freedom), 1 - TAIL))


def _unskew(quantile: float, spread: Spread) -> FloatArray:
    """Hall's transformation, inverted: the quantile of a t statistic whose sample has this skewness."""
    root = np.sqrt(spread.num_sentences)
    skewness = np.where(np.abs(spread.skewness) > 1e-6, spread.skewness, 1e-6)
    inner = 1 + skewness * (quantile / root - skewness / (6 * spread.num_sentences))
    return np.asarray(3 * root / skewness * (np.cbrt(inner) - 1))


def _expit(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(np.clip(-x, -700, 700))))
