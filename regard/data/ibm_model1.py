"""Which pieces of a pair belong together, found by counting: IBM model 1 with a liking for the diagonal.

Brown et al. 1993; the diagonal as in Dyer et al. 2013. It knows far less than a trained model, and knows it in seconds.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from regard.data.batch import in_order
from regard.data.store import Array, Corpus
from regard.data.tokenizer import PAD

SLOTS = 23  # bits: counts of pairs of pieces live in 2^23 slots, whatever the vocabularies
MIX = np.uint64(0x9E3779B97F4A7C15)
UNSEEN = 1e-6  # chance of a pair of pieces that was never counted: there the diagonal decides
ROUNDS = 5
PLAIN_ROUNDS = 3  # before the diagonal counts: a corpus must first show whether it has one
ENOUGH = 40_000  # pairs to count
LONGEST = 100  # pieces of a sentence that is counted
CELLS = 1 << 14
STEEPEST = 12.0


@dataclass(frozen=True)
class Lexicon:
    """How often a target piece came from a source piece, and how far from the diagonal they stood."""

    totals: Array  # (V,) of each source piece
    counts: Array = field(default_factory=lambda: np.ones(1 << SLOTS, np.float32))
    steepness: float = 0.0  # the chance of a distance x from the diagonal falls by exp(-steepness · x)

    def align(self, source: Array, target: Array) -> Array:
        """For each target piece (B, T), which source piece (B, S) it comes from, as chances: (B, T, S)."""
        chance = self.counts[slots(source, target)] / self.totals[source][:, None, :] + np.float32(UNSEEN)
        chance *= np.exp(np.float32(-self.steepness) * distance(source, target))
        chance *= (source != PAD)[:, None, :]
        return chance / chance.sum(axis=-1, keepdims=True)


Sides = tuple[Array, Array]
"""Padded ids of both sides, with their end marks: (B, S) and (B, T)."""


def learn(batches: Callable[[], Iterable[Sides]], vocabulary: int) -> Lexicon:
    """Count what belongs together by expectation-maximisation, going through the batches again in every round."""
    lexicon = Lexicon(np.ones(vocabulary, np.float32))
    for round_ in range(1, ROUNDS + 1):
        counts, totals = np.zeros(1 << SLOTS, np.float32), np.zeros(vocabulary, np.float32)
        far, pieces = 0.0, 0.0
        for source, target in batches():
            shares = lexicon.align(source, target) * (target != PAD)[:, :, None]
            np.add.at(counts, slots(source, target).ravel(), shares.ravel())
            np.add.at(totals, source.ravel(), shares.sum(axis=1).ravel())
            far += float((shares * distance(source, target)).sum())
            pieces += float(shares.sum())
        steepness = 0.0 if round_ < PLAIN_ROUNDS else min(STEEPEST, pieces / max(far, UNSEEN))
        lexicon = Lexicon(np.maximum(totals, UNSEEN), counts, steepness)
    return lexicon


def learn_from(corpus: Corpus, vocabulary: int) -> Lexicon:
    """The lexicon of a corpus, from as many of its pairs as are enough."""
    order = list(in_order(corpus, CELLS, ENOUGH, LONGEST)) if len(corpus) else []
    return learn(lambda: ((batch.source.numpy(), batch.target_out.numpy()) for _, batch in order), vocabulary)


def slots(source: Array, target: Array) -> Array:
    """Where the count of each pair of pieces lives: (B, S), (B, T) -> (B, T, S). Rare pairs may share a slot."""
    with np.errstate(over="ignore"):
        mixed = (source.astype(np.uint64)[:, None, :] << np.uint64(32) | target.astype(np.uint64)[:, :, None]) * MIX
    return (mixed >> np.uint64(64 - SLOTS)).astype(np.int64)


def distance(source: Array, target: Array) -> Array:
    """How far each cell of a pair's table lies from its diagonal, from 0 to 1: (B, T, S)."""
    places = [_places(side) for side in (source, target)]
    return np.abs(places[1][:, :, None] - places[0][:, None, :])


def _places(side: Array) -> Array:
    """Where each piece stands in its sentence, from 0 to 1: (B, T) -> (B, T)."""
    lengths = np.maximum(1, (side != PAD).sum(axis=1, keepdims=True))
    return np.minimum(1.0, (np.arange(side.shape[1])[None, :] + 0.5) / lengths).astype(np.float32)
