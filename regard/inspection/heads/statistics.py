"""Numbers of one attention matrix: entropy, confidence, distance, and how well it follows a pattern."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.heads.patterns import Pattern

Numbers = NDArray[np.float64]
RESAMPLES = 1000
ENOUGH = 5
"""Sentences below which nothing is told of how much a number would differ on others."""
SEED = 12345


def entropy(weights: Tensor) -> Tensor:
    """H = -Σ w ln w over the keys, in nats: (…, Tq, Tk) -> (…, Tq). exp(H) is the effective number of keys."""
    return -(weights * weights.clamp(min=1e-30).log()).sum(dim=-1)


def evenness(weights: Tensor, keep: Tensor) -> Tensor:
    """H / ln n, n the keys that a query may look at (Tq, Tk): 0 at one key, 1 at all alike; NaN where n is 1.

    Entropy grows with length, so that only this compares sentences, and rows of a decoder.
    """
    return entropy(weights) / keep.sum(dim=-1).log()


def confidence(weights: Tensor) -> Tensor:
    """The largest weight of each query: (…, Tq, Tk) -> (…, Tq).  Voita et al. 2019."""
    return weights.amax(dim=-1)


def distance(weights: Tensor) -> Tensor:
    """How far away a query looks on average, E|j - i|: (…, T, T) -> (…, T)."""
    n = weights.shape[-1]
    at = weights.new_tensor(range(n))
    return (weights * (at[None, :] - at[:, None]).abs()).sum(dim=-1)


def distance_variance(weights: Tensor) -> Tensor:
    """How much that distance varies within a row, E|j - i|² - (E|j - i|)²: (…, T, T) -> (…, T)."""
    n = weights.shape[-1]
    at = weights.new_tensor(range(n))
    apart = (at[None, :] - at[:, None]).abs()
    return (weights * (apart - distance(weights)[..., None]).square()).sum(dim=-1)


@dataclass(frozen=True)
class Fit:
    """How well heads follow a pattern in each sentence: sums over the rows where the pattern says something."""

    mass: Numbers
    """(sentences, H) weight on the pattern."""
    hits: Numbers
    """(sentences, H) rows whose largest weight lies on it."""
    chance: Numbers
    """(sentences,) what uniform attention would put there."""
    rows: Numbers
    """(sentences,)"""

    @classmethod
    def join(cls, parts: "list[Fit]") -> "Fit":
        """Sentences below each other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__))

    def lift(self, weight: Numbers | None = None) -> Numbers:
        """(mass - chance) / (1 - chance) of each head: 1 perfect, 0 as chance has it, below 0 it avoids the pattern.

        `weight` (…, sentences) counts sentences several times or not at all.
        """
        weight = np.ones(len(self.rows)) if weight is None else weight
        rows, chance = weight @ self.rows, weight @ self.chance
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(((weight @ self.mass).T - chance) / (rows - chance)).T

    def by_sentence_mean(self) -> Numbers:
        """The lift of each sentence, averaged: long ones do not count for more."""
        here = self.rows > 0
        return self.by_sentence()[here].mean(axis=0) if here.any() else np.full(self.mass.shape[1], math.nan)

    def argmax(self) -> Numbers:
        """The share of rows whose largest weight lies on the pattern, by head."""
        return np.asarray(self.hits.sum(axis=0) / max(1.0, self.rows.sum()))

    def by_sentence(self) -> Numbers:
        """The lift of each sentence and head alone; NaN where the pattern says nothing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.mass - self.chance[:, None]) / (self.rows - self.chance)[:, None])

    def interval(self) -> tuple[Numbers, Numbers] | None:
        """The middle 95 % of the lift over resampled sentences, by head; None where too few have the pattern."""
        if (self.rows > 0).sum() < ENOUGH:
            return None
        drawn = self.lift(resamples(len(self.rows)))
        known = drawn[~np.isnan(drawn).any(axis=1)]  # a corpus may be drawn in which the pattern says nothing
        low, high = np.percentile(known, (2.5, 97.5), axis=0)
        return low, high


@functools.lru_cache(maxsize=8)
def resamples(count: int) -> Numbers:
    """How often each of so many sentences comes in each resampled corpus: (resamples, sentences)."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(np.float64)


def fit(weights: Tensor, pattern: Pattern, keep: Pattern) -> Fit:
    """How well heads (H, Tq, Tk) follow a pattern among the keys that may be looked at, in one sentence.

    Rows where the pattern has no key, or holds every key, say nothing and are left out.
    """
    wanted = pattern & keep
    allowed, marked = keep.sum(axis=1), wanted.sum(axis=1)
    here = (marked > 0) & (marked < allowed)
    w = weights.numpy().astype(np.float64)[:, here]  # (H, rows, Tk)
    on = wanted[here]
    best = w.argmax(axis=2) if w.shape[1] else np.zeros(w.shape[:2], dtype=int)
    hits = np.take_along_axis(np.broadcast_to(on, w.shape), best[..., None], axis=2)[..., 0] if w.size else best
    return Fit(
        mass=(w * on).sum(axis=(1, 2))[None],
        hits=hits.sum(axis=1)[None].astype(np.float64),
        chance=np.array([(marked[here] / allowed[here]).sum()]),
        rows=np.array([here.sum()], dtype=np.float64),
    )


def vertical(weights: Tensor, keep: Pattern) -> Fit:
    """How well heads look at one column, whichever it is: the one with the largest mean weight, each its own."""
    w = weights.numpy().astype(np.float64)
    here = keep.sum(axis=1) > 1
    w, allowed = w[:, here], keep[here]
    if not w.size:
        nothing = np.zeros((1, len(weights)))
        return Fit(nothing, nothing, np.zeros(1), np.zeros(1))
    sums = w.sum(axis=1)  # (H, Tk)
    column = sums.argmax(axis=1)
    return Fit(
        mass=sums.max(axis=1)[None],
        hits=(w.argmax(axis=2) == column[:, None]).sum(axis=1)[None].astype(np.float64),
        chance=np.array([(1 / allowed.sum(axis=1)).sum()]),
        rows=np.array([float(here.sum())]),
    )


def deals(keep: Tensor, times: int) -> Tensor:
    """Which key's weight each key is given, dealt at random among those that a query may look at: (times, Tq, Tk)."""
    generator = torch.Generator().manual_seed(SEED)
    dealt = torch.arange(keep.shape[1]).repeat(times, len(keep), 1)
    for way in dealt:
        for row, open_ in zip(way, keep, strict=True):
            keys = open_.nonzero()[:, 0]
            row[keys] = keys[torch.randperm(len(keys), generator=generator)]
    return dealt


def spearman(a: Numbers, b: Numbers) -> float:
    """The correlation of ranks, ties shared; NaN where one of the two is flat."""
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    length = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / length if length > 0 else math.nan


def _ranks(values: Numbers) -> Numbers:
    _, place, count = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=np.float64)
