"""Bootstrap confidence intervals for scores that are a ratio of sums over sentences."""

from collections.abc import Sequence

import numpy as np

from regard.metrics.score import RESAMPLES, Score

SEED = 12345  # sacreBLEU's own


def ratio_score(name: str, numerators: Sequence[float], denominators: Sequence[float], signature: str) -> Score:
    """100 · Σ numerators / Σ denominators, with mean ± half-width of the middle 95% of resampled corpora."""
    numerator, denominator = np.asarray(numerators, float), np.asarray(denominators, float)
    samples = np.random.default_rng(SEED).integers(0, len(numerator), (RESAMPLES, len(numerator)))
    values = np.sort(100 * numerator[samples].sum(axis=1) / denominator[samples].sum(axis=1))
    cut = RESAMPLES // 40
    mean, half_width = float(values.mean()), float(values[-cut - 1] - values[cut]) / 2
    return Score(
        name=name,
        value=float(100 * numerator.sum() / denominator.sum()),
        low=mean - half_width,
        high=mean + half_width,
        signature=f"bs:{RESAMPLES}|seed:{SEED}|{signature}",
    )
