"""BLEU, chrF and TER of many corpora at once, from sums of sacreBLEU's statistics of sentences.

sacreBLEU computes one score at a time. Tests and intervals need thousands: sums (…, statistics) -> scores (…), with the
formulas of sacreBLEU and their smoothing. In all three, column 1 is the length of the reference.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric as SacreMetric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from regard.metrics.intervals import PERCENT, PERCENT_ERRORS, Interval, Scale, jackknife_interval, make_score
from regard.metrics.score import Score, require_aligned

FloatArray = NDArray[np.float64]
SIZE_COLUMN = 1


def corpus_score(name: str, metric: SacreMetric, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """A sacreBLEU metric over a corpus, with its interval over sentences."""
    require_aligned(hypotheses, references)
    statistics = sentence_statistics(metric, hypotheses, references)
    scale: Scale = PERCENT_ERRORS if isinstance(metric, TER) else PERCENT
    value, interval = score_corpus(metric, statistics), corpus_interval(metric, statistics, scale)
    return make_score(name, value, interval, str(metric.get_signature()), scale)


def corpus_interval(metric: SacreMetric, statistics: FloatArray, scale: Scale) -> Interval | None:
    """The interval of a corpus score, from the scores without each sentence."""
    total = statistics.sum(axis=0)
    leave_one_out = score_sums(metric, total - statistics)
    return jackknife_interval(score_sums(metric, total), leave_one_out, statistics[:, SIZE_COLUMN], scale)


def score_corpus(metric: SacreMetric, statistics: FloatArray) -> float:
    """The score of a corpus by sacreBLEU itself; a perfect BLEU is 100, without its rounding error above it."""
    score = float(metric._compute_score_from_stats(statistics.sum(axis=0).tolist()).score)
    return score if isinstance(metric, TER) else min(100.0, score)


def sentence_statistics(metric: SacreMetric, hypotheses: Sequence[str], references: Sequence[str]) -> FloatArray:
    """The statistics of each sentence (sentences, statistics), as sacreBLEU counts them."""
    return np.array(metric._extract_corpus_statistics(list(hypotheses), [list(references)]), dtype=np.float64)


def score_sums(metric: SacreMetric, sums: FloatArray) -> FloatArray:
    """The scores of corpora whose statistics have these sums, from 0 to 100."""
    if isinstance(metric, BLEU):
        return bleu_of_sums(sums, metric.max_ngram_order)
    return chrf_of_sums(sums, metric.order, metric.beta) if isinstance(metric, CHRF) else ter_of_sums(sums)


def bleu_of_sums(sums: FloatArray, order: int = 4) -> FloatArray:
    """BLEU with exponential smoothing: the k-th order without a match counts as 1 / 2^k matches."""
    hypothesis_length, reference_length = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2 : 2 + order], np.maximum(sums[..., 2 + order :], 1e-300)
    empty = matches == 0
    smoothed = np.where(empty, 0.5 ** np.cumsum(empty, axis=-1), matches)
    mean_log_precision = np.log(smoothed / totals).mean(axis=-1)
    missing = np.maximum(0, reference_length / np.maximum(hypothesis_length, 1e-300) - 1)
    score = 100 * np.exp(np.minimum(mean_log_precision, 0) - np.minimum(missing, 1e3))
    return np.where((matches.sum(axis=-1) > 0) & (sums[..., -1] > 0), score, 0.0)


def chrf_of_sums(sums: FloatArray, order: int, beta: int) -> FloatArray:
    """chrF: the F-score of the mean precision and the mean recall over orders that occur on both sides."""
    hypothesis, reference, matches = (sums[..., column : 3 * order : 3] for column in range(3))
    occurs = (hypothesis > 0) & (reference > 0)
    num_orders = np.maximum(occurs.sum(axis=-1), 1)
    precision = np.where(occurs, matches / np.maximum(hypothesis, 1), 0).sum(axis=-1) / num_orders
    recall = np.where(occurs, matches / np.maximum(reference, 1), 0).sum(axis=-1) / num_orders
    weighted = beta**2 * precision + recall
    return np.asarray(100 * (1 + beta**2) * precision * recall / np.where(weighted > 0, weighted, 1))


def ter_of_sums(sums: FloatArray) -> FloatArray:
    """TER: edits per word of the references; 100 for edits without any word."""
    edits, words = sums[..., 0], sums[..., 1]
    return np.asarray(100 * np.where(words > 0, edits / np.maximum(words, 1e-300), (edits > 0).astype(float)))
