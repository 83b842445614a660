"""Intervals for scores that are a ratio of sums over sentences, by the bootstrap."""

from collections.abc import Sequence

import numpy as np

from regard.metrics.score import RESAMPLES, Score

SEED = 12345  # sacreBLEU's own


def ratio_score(name: str, tops: Sequence[float], bottoms: Sequence[float], signature: str) -> Score:
    """100 · Σ tops / Σ bottoms, with mean ± half-width of the middle 95 % of resampled corpora."""
    top, bottom = np.asarray(tops, float), np.asarray(bottoms, float)
    drawn = np.random.default_rng(SEED).integers(0, len(top), (RESAMPLES, len(top)))
    values = np.sort(100 * top[drawn].sum(axis=1) / bottom[drawn].sum(axis=1))
    cut = RESAMPLES // 40
    mean, half = float(values.mean()), float(values[-cut - 1] - values[cut]) / 2
    return Score(
        name=name,
        value=float(100 * top.sum() / bottom.sum()),
        low=mean - half,
        high=mean + half,
        signature=f"bs:{RESAMPLES}|seed:{SEED}|{signature}",
    )
