"""Scores of predicted classes: accuracy, F1, Matthews' correlation and others, from a confusion matrix.

Every measure is a function of confusion matrices (…, K, K), with the gold class in rows and the predicted one in
columns, and equals scikit-learn's. Means over classes are over those that occur in gold or in the predictions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.errors import DataError
from regard.metrics.intervals import PERCENT, Interval, Scale, Spread, jackknife_interval, make_score
from regard.metrics.labels.statistics import CellCounts, FloatArray
from regard.metrics.score import Score

MatrixMeasure = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Confusion:
    """Gold and predicted classes of examples."""

    classes: tuple[str, ...]
    counts: CellCounts

    @property
    def matrix(self) -> FloatArray:
        """(K, K): gold classes in rows."""
        return self.counts.total().reshape(len(self.classes), -1)


def count_confusion(gold: Sequence[str], predicted: Sequence[str], classes: Sequence[str] = ()) -> Confusion:
    """The confusion of predictions; `classes` are further ones, so that several systems have the same."""
    if len(gold) != len(predicted):
        raise DataError(f"{len(predicted):,} predictions but {len(gold):,} labels; every text needs one of each")
    if not gold:
        raise DataError("nothing to score: no texts")
    names = tuple(sorted({*gold, *predicted, *classes}))
    index = {name: number for number, name in enumerate(names)}
    cells = [index[one] * len(names) + index[other] for one, other in zip(gold, predicted, strict=True)]
    return Confusion(names, CellCounts(np.asarray(cells), len(names) ** 2))


def accuracy(matrix: FloatArray) -> FloatArray:
    """The share of right predictions."""
    return _divide(_right(matrix).sum(axis=-1), matrix.sum(axis=(-2, -1)))


def macro_f1(matrix: FloatArray) -> FloatArray:
    """The mean F1 of the classes that occur in gold or in the predictions."""
    return _mean_over_classes(class_f1(matrix), _gold(matrix) + _predicted(matrix) > 0)


def weighted_f1(matrix: FloatArray) -> FloatArray:
    """The mean F1 of the classes, weighted by how often they occur in gold."""
    return _divide((class_f1(matrix) * _gold(matrix)).sum(axis=-1), matrix.sum(axis=(-2, -1)))


def balanced_accuracy(matrix: FloatArray) -> FloatArray:
    """The mean recall of the classes that occur in gold."""
    return _mean_over_classes(class_recall(matrix), _gold(matrix) > 0)


def matthews_correlation(matrix: FloatArray) -> FloatArray:
    """Matthews' correlation of any number of classes, from -1 to 1; 0 where it is not defined.  Gorodkin 2004."""
    gold, predicted, total = _gold(matrix), _predicted(matrix), matrix.sum(axis=(-2, -1))
    covariance = _right(matrix).sum(axis=-1) * total - (gold * predicted).sum(axis=-1)
    variances = (total**2 - (predicted**2).sum(axis=-1)) * (total**2 - (gold**2).sum(axis=-1))
    return _divide(covariance, np.sqrt(variances))


def cohen_kappa(matrix: FloatArray) -> FloatArray:
    """Agreement beyond that of chance.  Cohen 1960."""
    total = matrix.sum(axis=(-2, -1))
    by_chance = _divide((_gold(matrix) * _predicted(matrix)).sum(axis=-1), total**2)
    return _divide(accuracy(matrix) - by_chance, 1 - by_chance)


def class_recall(matrix: FloatArray) -> FloatArray:
    """The share of the texts of each class that are predicted: (…, K)."""
    return _divide(_right(matrix), _gold(matrix))


def class_f1(matrix: FloatArray) -> FloatArray:
    """2 · right / (gold + predicted) of each class, 0 where there are none: (…, K)."""
    return _divide(2 * _right(matrix), _gold(matrix) + _predicted(matrix))


CLASS_MEASURES: Mapping[str, tuple[str, MatrixMeasure]] = {
    "accuracy": ("accuracy", accuracy),
    "macro_f1": ("macro-F1", macro_f1),
    "weighted_f1": ("weighted F1", weighted_f1),
    "balanced_accuracy": ("balanced accuracy", balanced_accuracy),
    "mcc": ("MCC", matthews_correlation),
    "kappa": ("Cohen's kappa", cohen_kappa),
}
"""Each with its name, in the order in which they are shown; all are multiplied by 100."""
SIGNED_MEASURES = frozenset({"mcc", "kappa"})
"""From -100 to 100."""


class SignedPercentScale:
    """Scores from -100 to 100, on the scale of the logit of their distance from -100."""

    signature = "ci:jackknife-t,logit"

    def interval(self, value: FloatArray, spread: Spread) -> Interval:
        halved = replace(spread, standard_error=spread.standard_error / 2)
        low, high = PERCENT.interval((value + 100) / 2, halved)
        return Interval(2 * low - 100, 2 * high - 100)


def flat_measure(name: str, num_classes: int) -> MatrixMeasure:
    """A measure of flat counts (…, K²), times 100."""
    measure = CLASS_MEASURES[name][1]
    return lambda sums: 100 * measure(sums.reshape(*sums.shape[:-1], num_classes, num_classes))


def score_classes(confusion: Confusion) -> dict[str, Score]:
    """Every measure with its interval over texts."""
    return {name: _score(name, confusion) for name in CLASS_MEASURES}


def _score(name: str, confusion: Confusion) -> Score:
    measure = flat_measure(name, len(confusion.classes))
    counts = confusion.counts
    value = measure(counts.total())
    scale: Scale = SignedPercentScale() if name in SIGNED_MEASURES else PERCENT
    interval = jackknife_interval(value, counts.leave_one_out(measure), counts.sizes, scale)
    signature = f"unit:text|classes:{len(confusion.classes)}|n:{len(counts.cells)}"
    if name == "macro_f1":
        signature += "|over:gold-or-predicted"
    return make_score(CLASS_MEASURES[name][0], float(value), interval, signature, scale)


def _right(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.diagonal(matrix, axis1=-2, axis2=-1))


def _gold(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix.sum(axis=-1))


def _predicted(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix.sum(axis=-2))


def _mean_over_classes(values: FloatArray, counted: np.ndarray) -> FloatArray:
    return _divide((values * counted).sum(axis=-1), counted.sum(axis=-1))


def _divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """The quotient, 0 where the denominator is 0."""
    denominator = np.asarray(denominator, dtype=np.float64)
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator != 0)
