"""Scores of tagged spans: precision, recall and F1 over all spans of a corpus (micro-averaged).

A predicted span is right if its type and both its ends are. The interval is over sentences, which are independent of
each other; the spans of one sentence are not.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence

import numpy as np

from regard.errors import DataError
from regard.metrics.intervals import PERCENT, jackknife_interval, make_score
from regard.metrics.labels.statistics import FloatArray, Measure, TableCounts
from regard.metrics.score import Score


def count_spans(gold: Sequence[Collection[Hashable]], predicted: Sequence[Collection[Hashable]]) -> TableCounts:
    """For each sentence: right, gold and predicted spans."""
    if len(gold) != len(predicted):
        raise DataError(f"{len(predicted):,} predicted sentences but {len(gold):,} with gold tags; expected as many")
    if not gold:
        raise DataError("nothing to score: no sentences")
    rows = [(len({*one} & {*other}), len(one), len(other)) for one, other in zip(gold, predicted, strict=True)]
    table = np.asarray(rows, dtype=np.float64)
    return TableCounts(table, sizes=table[:, 1] + table[:, 2])


def precision(sums: FloatArray) -> FloatArray:
    """The share of predicted spans that are right: (…, 3) -> (…), from 0 to 100."""
    return _percent(sums[..., 0], sums[..., 2])


def recall(sums: FloatArray) -> FloatArray:
    """The share of gold spans that are predicted."""
    return _percent(sums[..., 0], sums[..., 1])


def f1(sums: FloatArray) -> FloatArray:
    """2 · right / (gold + predicted); 0 where there are none."""
    return _percent(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


SPAN_MEASURES: Mapping[str, tuple[str, Measure]] = {
    "f1": ("F1", f1),
    "precision": ("precision", precision),
    "recall": ("recall", recall),
}
"""Each with its name, in the order in which they are shown."""


def score_spans(counts: TableCounts, mode: str) -> dict[str, Score]:
    """Every measure with its interval; `mode` says how spans were found in tags."""
    return {name: _score(title, measure, counts, mode) for name, (title, measure) in SPAN_MEASURES.items()}


def _score(title: str, measure: Measure, counts: TableCounts, mode: str) -> Score:
    value = measure(counts.total())
    interval = jackknife_interval(value, counts.leave_one_out(measure), counts.sizes, PERCENT)
    signature = f"unit:span|average:micro|mode:{mode}|sentences:{len(counts.table)}"
    return make_score(title, float(value), interval, signature, PERCENT)


def _percent(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    return 100 * np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator != 0)
