"""Statistics of attention matrices: entropy, confidence, distance, and the fit of a pattern."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.heads.patterns import Pattern
from regard.metrics.intervals import ERROR_SHARE, ratio_interval
from regard.metrics.statistical_tests import spearman_correlation

FloatArray = NDArray[np.float64]
SEED = 12345


def entropy(weights: Tensor) -> Tensor:
    """H = -Σ w ln w over the keys, in nats: (…, Tq, Tk) -> (…, Tq). exp(H) is the effective number of keys."""
    return -(weights * weights.clamp(min=1e-30).log()).sum(dim=-1)


def normalized_entropy(weights: Tensor, attn_mask: Tensor) -> Tensor:
    """H / ln n with n the number of unmasked keys (Tq, Tk): 0 if one key has all weight, 1 if uniform; NaN if n is 1.

    Entropy grows with n, so that only the normalized one is comparable between sentences, and rows of a decoder.
    """
    return entropy(weights) / attn_mask.sum(dim=-1).log()


def confidence(weights: Tensor) -> Tensor:
    """The largest weight of each query: (…, Tq, Tk) -> (…, Tq).  Voita et al. 2019."""
    return weights.amax(dim=-1)


def mean_distance(weights: Tensor) -> Tensor:
    """The mean distance of the keys from each query, E|j - i|: (…, T, T) -> (…, T)."""
    n = weights.shape[-1]
    positions = weights.new_tensor(range(n))
    return (weights * (positions[None, :] - positions[:, None]).abs()).sum(dim=-1)


def distance_variance(weights: Tensor) -> Tensor:
    """The variance of that distance within a row, E|j - i|² - (E|j - i|)²: (…, T, T) -> (…, T)."""
    n = weights.shape[-1]
    positions = weights.new_tensor(range(n))
    distances = (positions[None, :] - positions[:, None]).abs()
    return (weights * (distances - mean_distance(weights)[..., None]).square()).sum(dim=-1)


@dataclass(frozen=True)
class PatternFit:
    """The fit of heads to a pattern in each sentence: sums over the rows where the pattern is defined."""

    mass: FloatArray
    """(sentences, H) attention weight on the pattern."""
    hits: FloatArray
    """(sentences, H) rows whose largest weight is on the pattern."""
    chance: FloatArray
    """(sentences,) weight that uniform attention puts on the pattern."""
    rows: FloatArray
    """(sentences,) rows where the pattern is defined."""

    @classmethod
    def concat(cls, fits: "list[PatternFit]") -> "PatternFit":
        """Concatenate along the sentences."""
        return cls(*(np.concatenate([getattr(fit_, name) for fit_ in fits]) for name in cls.__annotations__))

    def lift(self) -> FloatArray:
        """(mass - chance) / (1 - chance) of each head: 1 perfect, 0 chance level, below 0 the pattern is avoided."""
        rows, chance = self.rows.sum(), self.chance.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.mass.sum(axis=0) - chance) / (rows - chance))

    def macro_lift(self) -> FloatArray:
        """The mean of the lift of each sentence: long sentences do not count more."""
        valid = self.rows > 0
        return self.sentence_lifts()[valid].mean(axis=0) if valid.any() else np.full(self.mass.shape[1], math.nan)

    def argmax_rate(self) -> FloatArray:
        """The share of rows whose largest weight is on the pattern, by head."""
        return np.asarray(self.hits.sum(axis=0) / max(1.0, self.rows.sum()))

    def sentence_lifts(self) -> FloatArray:
        """The lift of each sentence and head; NaN where the pattern is undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.mass - self.chance[:, None]) / (self.rows - self.chance)[:, None])

    def confidence_interval(self) -> tuple[FloatArray, FloatArray] | None:
        """The 95% interval of the lift, by head; None if too few sentences have the pattern.

        It is that of 1 - lift, weight off the pattern over that of uniform attention, which is never below 0.
        """
        valid = self.rows > 0
        rows, chance = self.rows[valid], self.chance[valid]
        off_pattern = np.maximum(rows[:, None] - self.mass[valid], 0)
        interval = ratio_interval(off_pattern, rows - chance, ERROR_SHARE)
        if interval is None:
            return None
        lowest = -chance.sum() / (rows - chance).sum()  # no weight at all on the pattern
        return np.maximum(1 - interval.high, lowest), 1 - interval.low


def fit_pattern(weights: Tensor, pattern: Pattern, attn_mask: Pattern) -> PatternFit:
    """The fit of heads (H, Tq, Tk) to a pattern among the unmasked keys, in one sentence.

    Rows where the pattern has no key, or all keys, are left out.
    """
    target_mask = pattern & attn_mask
    num_allowed, num_target = attn_mask.sum(axis=1), target_mask.sum(axis=1)
    valid = (num_target > 0) & (num_target < num_allowed)
    w = weights.numpy().astype(np.float64)[:, valid]  # (H, rows, Tk)
    target_rows = target_mask[valid]
    argmax_keys = w.argmax(axis=2) if w.shape[1] else np.zeros(w.shape[:2], dtype=int)
    hits = (
        np.take_along_axis(np.broadcast_to(target_rows, w.shape), argmax_keys[..., None], axis=2)[..., 0]
        if w.size
        else argmax_keys
    )
    return PatternFit(
        mass=(w * target_rows).sum(axis=(1, 2))[None],
        hits=hits.sum(axis=1)[None].astype(np.float64),
        chance=np.array([(num_target[valid] / num_allowed[valid]).sum()]),
        rows=np.array([valid.sum()], dtype=np.float64),
    )


def fit_vertical(weights: Tensor, attn_mask: Pattern) -> PatternFit:
    """The fit of heads to a vertical pattern: for each head the column with the largest mean weight."""
    w = weights.numpy().astype(np.float64)
    valid = attn_mask.sum(axis=1) > 1
    w, allowed = w[:, valid], attn_mask[valid]
    if not w.size:
        zeros = np.zeros((1, len(weights)))
        return PatternFit(zeros, zeros, np.zeros(1), np.zeros(1))
    sums = w.sum(axis=1)  # (H, Tk)
    top_column = sums.argmax(axis=1)
    return PatternFit(
        mass=sums.max(axis=1)[None],
        hits=(w.argmax(axis=2) == top_column[:, None]).sum(axis=1)[None].astype(np.float64),
        chance=np.array([(1 / allowed.sum(axis=1)).sum()]),
        rows=np.array([float(valid.sum())]),
    )


def random_permutations(attn_mask: Tensor, count: int) -> Tensor:
    """Random permutations of the unmasked keys of each row, as indices for `gather`: (count, Tq, Tk)."""
    generator = torch.Generator().manual_seed(SEED)
    permutations = torch.arange(attn_mask.shape[1]).repeat(count, len(attn_mask), 1)
    for permutation in permutations:
        for row, allowed in zip(permutation, attn_mask, strict=True):
            keys = allowed.nonzero()[:, 0]
            row[keys] = keys[torch.randperm(len(keys), generator=generator)]
    return permutations


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation, ties averaged; NaN if one of the two is constant.

    Values are rounded, so that rounding errors do not break ties.
    """
    return spearman_correlation(np.round(a, 12), np.round(b, 12))
