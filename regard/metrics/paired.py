"""The difference between two systems on the same sentences, with its confidence interval."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from regard.metrics.resample import SEED
from regard.metrics.score import RESAMPLES, Score, require_aligned


def bleu_difference(hypotheses: Sequence[str], other_hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU of the first system minus that of the second, with the 95% interval of the paired bootstrap.

    Koehn 2004. Statistics are sacreBLEU's, so the two values are those of `corpus_bleu`.
    """
    require_aligned(hypotheses, references)
    require_aligned(other_hypotheses, references)
    metric = BLEU()
    stats = [
        np.array(metric._extract_corpus_statistics(list(system), [list(references)]), dtype=np.int64)
        for system in (hypotheses, other_hypotheses)
    ]
    rng = np.random.default_rng(SEED)
    samples = rng.integers(len(references), size=(RESAMPLES, len(references)))
    differences = [_score(metric, stats[0][rows]) - _score(metric, stats[1][rows]) for rows in samples]
    low, high = np.percentile(differences, (2.5, 97.5)).tolist()
    value = _score(metric, stats[0]) - _score(metric, stats[1])
    signature = f"paired bootstrap|bs:{RESAMPLES}|seed:{SEED}|{_signature(metric, hypotheses, references)}"
    return Score("BLEU difference", value, low, high, signature)


def _score(metric: BLEU, rows: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> float:
    return float(metric._compute_score_from_stats(rows.sum(axis=0).tolist()).score)


def _signature(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str]) -> str:
    metric.corpus_score(list(hypotheses)[:1], [list(references)[:1]])  # sacreBLEU has a signature only after a score
    return str(metric.get_signature())
