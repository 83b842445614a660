"""The difference between two systems on the same sentences, with its confidence interval."""

from collections.abc import Sequence

import numpy as np

from regard.metrics.corpus_sums import SIZE_COLUMN, score_corpus, score_sums, sentence_statistics
from regard.metrics.intervals import UNBOUNDED, Interval, jackknife_interval, make_score
from regard.metrics.score import Score, require_aligned
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization


def bleu_difference(
    hypotheses: Sequence[str],
    other_hypotheses: Sequence[str],
    references: Sequence[str],
    tokenization: Tokenization = DEFAULT_TOKENIZATION,
) -> Score:
    """BLEU of the first system minus that of the second, with the 95% interval over their common sentences.

    Statistics are sacreBLEU's, so the two values are those of `corpus_bleu`.
    """
    require_aligned(hypotheses, references)
    require_aligned(other_hypotheses, references)
    metric = tokenization.make_bleu()
    first, second = (sentence_statistics(metric, system, references) for system in (hypotheses, other_hypotheses))
    value = score_corpus(metric, first) - score_corpus(metric, second)
    leave_one_out = score_sums(metric, first.sum(axis=0) - first) - score_sums(metric, second.sum(axis=0) - second)
    interval = jackknife_interval(np.array(value), leave_one_out, first[:, SIZE_COLUMN], UNBOUNDED)
    if interval is not None:
        interval = Interval(np.maximum(interval.low, -100), np.minimum(interval.high, 100))
    return make_score("BLEU difference", value, interval, f"paired|{metric.get_signature()}", UNBOUNDED)
