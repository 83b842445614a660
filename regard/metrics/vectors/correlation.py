"""Spearman's and Pearson's correlation of predicted and gold similarities, with intervals and paired tests.

Ranks are computed again for every sample of pairs, with mean ranks for ties. Where two systems are compared by
exchanging their answers, it is their ranks that are exchanged: their cosines are on different scales.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import DataError
from regard.metrics.intervals import FloatArray, Scale, jackknife_interval, make_score
from regard.metrics.labels.classes import SignedPercentScale
from regard.metrics.labels.paired import SEED, LabelTest
from regard.metrics.score import Score
from regard.metrics.significance import PAIRED_TESTS, bootstrap_p_value, randomization_p_value
from regard.metrics.statistical_tests import holm_correction

MAX_SINGLE = 2_000
"""Pairs up to which the jackknife leaves out one at a time; of more, a group of many."""
NUM_GROUPS = 200
MAX_ELEMENTS = 1 << 22
"""Of samples that are in memory at a time."""
MIN_PAIRS = 3
IntArray = NDArray[np.int64]
SCALE: Scale = SignedPercentScale()


def pearson(x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's correlation along the last axis, times 100; 0 where one side is constant: (…, n), (…, n) -> (…)."""
    x, y = (values - values.mean(axis=-1, keepdims=True) for values in (x, y))
    spread = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    return np.asarray(100 * np.divide((x * y).sum(axis=-1), spread, out=np.zeros_like(spread), where=spread > 1e-12))


def spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's correlation of ranks."""
    return pearson(rank(x), rank(y))


def rank(values: FloatArray) -> FloatArray:
    """The ranks along the last axis, equal values with their mean rank."""
    from scipy.stats import rankdata  # slow to import

    return np.asarray(rankdata(values, axis=-1), np.float64)


def correlation_sums(x: FloatArray, y: FloatArray) -> FloatArray:
    """What each pair of values adds to the sums of `correlate_sums`: (n,), (n,) -> (n, 6)."""
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)


def correlate_sums(sums: FloatArray) -> FloatArray:
    """Pearson's correlation from sums over pairs, times 100; 0 where one side is constant: (…, 6) -> (…)."""
    count, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = np.sqrt(np.maximum(0, (count * xx - x * x) * (count * yy - y * y)))
    return np.asarray(100 * np.divide(count * xy - x * y, spread, out=np.zeros_like(spread), where=spread > 1e-6))


def standardize(values: FloatArray) -> FloatArray:
    """Values with mean 0 and variance 1: those of different systems can be exchanged, and Pearson's stays the same."""
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12))


Correlation = Callable[[FloatArray, FloatArray], FloatArray]
CORRELATIONS: Mapping[str, tuple[str, Correlation, Callable[[FloatArray], FloatArray]]] = {
    "spearman": ("Spearman", spearman, rank),
    "pearson": ("Pearson", pearson, standardize),
}
"""Each with its name, and the form in which the values of two systems are on one scale."""


def score_correlations(predicted: ArrayLike, gold: ArrayLike) -> dict[str, Score]:
    """Spearman's and Pearson's correlation, times 100, with intervals over pairs."""
    x, y = np.asarray(predicted, np.float64), np.asarray(gold, np.float64)
    if x.shape != y.shape or len(y) < MIN_PAIRS:
        raise DataError(
            f"{x.size:,} predicted similarities for {y.size:,} pairs; a correlation needs one for each, and "
            f"{MIN_PAIRS} pairs at least"
        )
    return {key: _score(x, y, name, measure) for key, (name, measure, _) in CORRELATIONS.items()}


def _score(x: FloatArray, y: FloatArray, name: str, measure: Correlation) -> Score:
    groups = list(_groups(len(x)))
    left_out = np.array([float(measure(np.delete(x, group), np.delete(y, group))) for group in groups])
    value = measure(x, y)
    interval = jackknife_interval(value, left_out, np.ones(len(groups)), SCALE)
    signature = f"unit:pair|n:{len(x)}|ties:mean-rank" if name == "Spearman" else f"unit:pair|n:{len(x)}"
    return make_score(name, float(value), interval, signature, SCALE)


def _groups(count: int) -> Iterator[IntArray]:
    """The pairs that are left out together."""
    num_groups = count if count <= MAX_SINGLE else NUM_GROUPS
    return (np.arange(start, count, num_groups) for start in range(num_groups))


def compare_correlations(
    gold: ArrayLike, predicted: ArrayLike, opponents: Mapping[str, ArrayLike]
) -> dict[str, dict[str, LabelTest]]:
    """Opponent -> measure -> paired test; a positive difference is in favor of the model."""
    y, ours = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    of_opponents = {name: np.asarray(values, np.float64) for name, values in opponents.items()}
    tests: dict[str, dict[str, LabelTest]] = {name: {} for name in of_opponents}
    for key, (_, measure, scale) in CORRELATIONS.items():
        samples = {name: _sample_differences(y, ours, x, measure, scale) for name, x in of_opponents.items()}
        differences = {name: float(measure(ours, y) - measure(x, y)) for name, x in of_opponents.items()}
        bootstrap = {
            name: bootstrap_p_value(abs(differences[name]), drawn, len(y)) for name, (drawn, _) in samples.items()
        }
        randomized = {
            name: randomization_p_value(abs(differences[name]), exchanged) for name, (_, exchanged) in samples.items()
        }
        corrected = holm_correction(bootstrap), holm_correction(randomized)
        for name, x in of_opponents.items():
            num_differing = int(np.count_nonzero(scale(ours) != scale(x)))
            tests[name][key] = LabelTest(differences[name], num_differing, corrected[0][name], corrected[1][name])
    return tests


def _sample_differences(
    y: FloatArray,
    ours: FloatArray,
    of_opponents: FloatArray,
    measure: Correlation,
    scale: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """The differences of two systems on resampled pairs, and where their answers are exchanged at random."""
    counts, exchanges = (PAIRED_TESTS[kind].draw(len(y), SEED) for kind in ("bs", "ar"))
    one, two = scale(ours), scale(of_opponents)
    drawn, exchanged = [], []
    size = max(1, MAX_ELEMENTS // len(y))
    for start in range(0, len(counts), size):
        rows = np.stack([np.repeat(np.arange(len(y)), row) for row in counts[start : start + size]])
        drawn.append(measure(ours[rows], y[rows]) - measure(of_opponents[rows], y[rows]))
    gold = scale(y)
    for start in range(0, len(exchanges), size):
        swap = exchanges[start : start + size].astype(bool)
        exchanged.append(pearson(np.where(swap, two, one), gold) - pearson(np.where(swap, one, two), gold))
    return np.concatenate(drawn), np.concatenate(exchanged)
