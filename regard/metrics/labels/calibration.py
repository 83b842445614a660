"""Whether a confidence of 80% is right in 80% of cases, and how to make it so: temperature and thresholds.

Everything is fitted on dev, never on test.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import DataError
from regard.metrics.intervals import FloatArray
from regard.metrics.score import Score

NUM_BINS = 15
"""As in Guo et al. 2017."""
MAX_TEMPERATURE = 20.0
"""The largest, and the inverse of the smallest: without an error on dev, the best temperature would be 0."""
DEFAULT_THRESHOLD = 0.5


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of similar confidence: how sure they are, and how often they are right."""

    low: float
    """Exclusive."""
    high: float
    """Inclusive."""
    count: int
    confidence: float
    """The mean."""
    accuracy: float


def reliability_curve(
    confidences: ArrayLike, correct: ArrayLike, num_bins: int = NUM_BINS
) -> tuple[ReliabilityBin, ...]:
    """The predictions in bins (i/n, (i+1)/n] of their confidence; bins without any are left out."""
    confidence, right = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    if confidence.shape != right.shape or not confidence.size:
        raise DataError(f"{confidence.size:,} confidences for {right.size:,} predictions; expected one for each")
    if not (np.isfinite(confidence) & (confidence >= 0) & (confidence <= 1 + 1e-6)).all():
        raise DataError("a confidence is not from 0 to 1: expected probabilities")
    edges = np.arange(num_bins + 1) / num_bins
    bins = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, num_bins - 1)
    counts = np.bincount(bins, minlength=num_bins)
    confidence_sums, right_sums = (np.bincount(bins, values, num_bins) for values in (confidence, right))
    return tuple(
        ReliabilityBin(
            low=float(edges[number]),
            high=float(edges[number + 1]),
            count=int(counts[number]),
            confidence=float(confidence_sums[number] / counts[number]),
            accuracy=float(right_sums[number] / counts[number]),
        )
        for number in np.flatnonzero(counts)
    )


def expected_calibration_error(confidences: ArrayLike, correct: ArrayLike, num_bins: int = NUM_BINS) -> Score:
    """Σ share of bin · |accuracy - mean confidence|, from 0 to 100.  Guo et al. 2017, eq. 3.

    It depends on the bins, and is above 0 by chance even for perfect confidences: no interval is given.
    """
    curve = reliability_curve(confidences, correct, num_bins)
    total = sum(one.count for one in curve)
    error = sum(one.count * abs(one.accuracy - one.confidence) for one in curve) / total
    return Score("ECE", 100 * error, None, None, f"bins:{num_bins}|n:{total}|ci:none,biased")


def scale_logits(logits: ArrayLike, temperature: float) -> FloatArray:
    """Log-probabilities at a temperature: log softmax(logits / T); (…, C) -> (…, C)."""
    scaled = np.asarray(logits, np.float64) / temperature
    shifted = scaled - scaled.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def fit_temperature(logits: ArrayLike, labels: Sequence[int] | NDArray[np.integer]) -> float:
    """The temperature with the smallest loss on dev: (N, C), (N,) -> T.  Guo et al. 2017, section 4.2.

    Logits may be log-probabilities: a constant for each example changes nothing. No prediction changes, only how sure
    it is.
    """
    from scipy.optimize import minimize_scalar

    values, gold = np.asarray(logits, np.float64), np.asarray(labels, np.int64)
    if values.ndim != 2 or len(values) != len(gold) or not gold.size:
        raise DataError(f"logits of shape {values.shape} for {gold.size:,} labels; expected one row for each label")
    rows = np.arange(len(gold))

    def loss(log_temperature: float) -> float:
        return float(-scale_logits(values, np.exp(log_temperature))[rows, gold].mean())

    # The loss is convex in 1/T, so it has one minimum over log T as well.
    limit = float(np.log(MAX_TEMPERATURE))
    fit = minimize_scalar(loss, bounds=(-limit, limit), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(fit.x))


def fit_thresholds(probabilities: ArrayLike, gold: ArrayLike) -> FloatArray:
    """For each label the threshold with the largest F1 on dev: (N, L) and (N, L) -> (L,).

    A label is predicted where its probability is at least the threshold. Of equal thresholds the one that is nearest
    to 0.5 is taken, and 0.5 for a label that dev does not have.
    """
    values, answers = np.asarray(probabilities, np.float64), np.asarray(gold, bool)
    if values.ndim != 2 or values.shape != answers.shape or not len(values):
        raise DataError(f"probabilities of shape {values.shape} for labels of shape {answers.shape}; expected the same")
    return np.array([_fit_threshold(values[:, label], answers[:, label]) for label in range(values.shape[1])])


def _fit_threshold(probabilities: FloatArray, gold: NDArray[np.bool_]) -> float:
    if not gold.any():
        return DEFAULT_THRESHOLD
    order = np.argsort(-probabilities, kind="stable")
    ranked, right = probabilities[order], np.cumsum(gold[order])
    # Predicting the first k texts: k must not separate equal probabilities.
    last = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    f1 = 2 * right[last] / (last + 1 + gold.sum())
    best = last[f1 >= f1.max() - 1e-12]
    high, low = ranked[best], np.append(ranked, 0.0)[best + 1]  # thresholds in (low, high] predict the same
    middle = (low + high) / 2
    candidates = np.where(middle > low, middle, high)
    candidates[(low < DEFAULT_THRESHOLD) & (high >= DEFAULT_THRESHOLD)] = DEFAULT_THRESHOLD
    return float(candidates[np.argmin(np.abs(candidates - DEFAULT_THRESHOLD))])
