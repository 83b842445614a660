"""Numbers of one attention matrix: entropy, confidence, distance, and how well it follows a pattern."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.heads.patterns import Pattern

FloatArray = NDArray[np.float64]
BOOTSTRAP_RESAMPLES = 1000
MIN_SENTENCES = 5
"""Sentences below which nothing is told of how much a number would differ on others."""
SEED = 12345


def entropy(weights: Tensor) -> Tensor:
    """H = -Σ w ln w over the keys, in nats: (…, Tq, Tk) -> (…, Tq). exp(H) is the effective number of keys."""
    return -(weights * weights.clamp(min=1e-30).log()).sum(dim=-1)


def normalized_entropy(weights: Tensor, attn_mask: Tensor) -> Tensor:
    """H / ln n, n the keys that a query may look at (Tq, Tk): 0 at one key, 1 at all alike; NaN where n is 1.

    Entropy grows with length, so that only this compares sentences, and rows of a decoder.
    """
    return entropy(weights) / attn_mask.sum(dim=-1).log()


def confidence(weights: Tensor) -> Tensor:
    """The largest weight of each query: (…, Tq, Tk) -> (…, Tq).  Voita et al. 2019."""
    return weights.amax(dim=-1)


def mean_distance(weights: Tensor) -> Tensor:
    """How far away a query looks on average, E|j - i|: (…, T, T) -> (…, T)."""
    n = weights.shape[-1]
    positions = weights.new_tensor(range(n))
    return (weights * (positions[None, :] - positions[:, None]).abs()).sum(dim=-1)


def distance_variance(weights: Tensor) -> Tensor:
    """How much that distance varies within a row, E|j - i|² - (E|j - i|)²: (…, T, T) -> (…, T)."""
    n = weights.shape[-1]
    positions = weights.new_tensor(range(n))
    distances = (positions[None, :] - positions[:, None]).abs()
    return (weights * (distances - mean_distance(weights)[..., None]).square()).sum(dim=-1)


@dataclass(frozen=True)
class PatternFit:
    """How well heads follow a pattern in each sentence: sums over the rows where the pattern says something."""

    mass: FloatArray
    """(sentences, H) weight on the pattern."""
    hits: FloatArray
    """(sentences, H) rows whose largest weight lies on it."""
    chance: FloatArray
    """(sentences,) what uniform attention would put there."""
    rows: FloatArray
    """(sentences,)"""

    @classmethod
    def concat(cls, fits: "list[PatternFit]") -> "PatternFit":
        """Sentences below each other."""
        return cls(*(np.concatenate([getattr(fit_, name) for fit_ in fits]) for name in cls.__annotations__))

    def lift(self, sentence_weights: FloatArray | None = None) -> FloatArray:
        """(mass - chance) / (1 - chance) of each head: 1 perfect, 0 as chance has it, below 0 it avoids the pattern.

        `weight` (…, sentences) counts sentences several times or not at all.
        """
        sentence_weights = np.ones(len(self.rows)) if sentence_weights is None else sentence_weights
        rows, chance = sentence_weights @ self.rows, sentence_weights @ self.chance
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(((sentence_weights @ self.mass).T - chance) / (rows - chance)).T

    def macro_lift(self) -> FloatArray:
        """The lift of each sentence, averaged: long ones do not count for more."""
        valid = self.rows > 0
        return self.sentence_lifts()[valid].mean(axis=0) if valid.any() else np.full(self.mass.shape[1], math.nan)

    def argmax_rate(self) -> FloatArray:
        """The share of rows whose largest weight lies on the pattern, by head."""
        return np.asarray(self.hits.sum(axis=0) / max(1.0, self.rows.sum()))

    def sentence_lifts(self) -> FloatArray:
        """The lift of each sentence and head alone; NaN where the pattern says nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.mass - self.chance[:, None]) / (self.rows - self.chance)[:, None])

    def bootstrap_interval(self) -> tuple[FloatArray, FloatArray] | None:
        """The middle 95 % of the lift over resampled sentences, by head; None where too few have the pattern."""
        if (self.rows > 0).sum() < MIN_SENTENCES:
            return None
        samples = self.lift(bootstrap_counts(len(self.rows)))
        valid_samples = samples[
            ~np.isnan(samples).any(axis=1)
        ]  # a corpus may be drawn in which the pattern says nothing
        low, high = np.percentile(valid_samples, (2.5, 97.5), axis=0)
        return low, high


@functools.lru_cache(maxsize=8)
def bootstrap_counts(num_sentences: int) -> FloatArray:
    """How often each of so many sentences comes in each resampled corpus: (resamples, sentences)."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(num_sentences, np.full(num_sentences, 1 / num_sentences), size=BOOTSTRAP_RESAMPLES).astype(
        np.float64
    )


def fit_pattern(weights: Tensor, pattern: Pattern, attn_mask: Pattern) -> PatternFit:
    """How well heads (H, Tq, Tk) follow a pattern among the keys that may be looked at, in one sentence.

    Rows where the pattern has no key, or holds every key, say nothing and are left out.
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
    """How well heads look at one column, whichever it is: the one with the largest mean weight, each its own."""
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
    """Which key's weight each key is given, dealt at random among those that a query may look at: (times, Tq, Tk)."""
    generator = torch.Generator().manual_seed(SEED)
    permutations = torch.arange(attn_mask.shape[1]).repeat(count, len(attn_mask), 1)
    for permutation in permutations:
        for row, allowed in zip(permutation, attn_mask, strict=True):
            keys = allowed.nonzero()[:, 0]
            row[keys] = keys[torch.randperm(len(keys), generator=generator)]
    return permutations


def spearman(a: FloatArray, b: FloatArray) -> float:
    """The correlation of ranks, ties shared; NaN where one of the two is flat."""
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    norm = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / norm if norm > 0 else math.nan


def _ranks(values: FloatArray) -> FloatArray:
    _, inverse, count = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[inverse], dtype=np.float64)
