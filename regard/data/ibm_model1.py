"""Token alignment by IBM Model 1 with a preference for the diagonal.

Brown et al. 1993; the diagonal as in fast_align (Dyer et al. 2013). Less exact than a trained model, but fitted in
seconds.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from regard.data.batch import batches_by_length
from regard.data.store import Array, Corpus
from regard.data.tokenizers.tokenizer import PAD
from regard.progress import track

HASH_BITS = 23  # counts of token pairs are stored in 2^23 slots for any vocabulary size
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
UNSEEN_PROBABILITY = 1e-6  # of a token pair that was never counted: then the diagonal decides
EM_ITERATIONS = 5
ITERATIONS_BEFORE_DIAGONAL = 3  # a corpus must first show whether it has a diagonal
MAX_PAIRS = 40_000
MAX_LENGTH = 100  # tokens; longer sentences are not counted
BATCH_TOKENS = 1 << 14
MAX_DIAGONAL_TENSION = 12.0


@dataclass(frozen=True)
class TranslationTable:
    """Expected counts of how often a target token is aligned to a source token, and the strength of the diagonal."""

    totals: Array  # (V,) for each source token
    counts: Array = field(default_factory=lambda: np.ones(1 << HASH_BITS, np.float32))
    diagonal_tension: float = 0.0  # the probability of a distance x from the diagonal falls as exp(-tension · x)

    def align(self, source: Array, target: Array) -> Array:
        """p(source position | target position) of ids (B, S) and (B, T): (B, T, S)."""
        probabilities = self.counts[hash_slots(source, target)] / self.totals[source][:, None, :] + np.float32(
            UNSEEN_PROBABILITY
        )
        probabilities *= np.exp(np.float32(-self.diagonal_tension) * diagonal_distance(source, target))
        probabilities *= (source != PAD)[:, None, :]
        return probabilities / probabilities.sum(axis=-1, keepdims=True)


SourceTargetIds = tuple[Array, Array]
"""Padded ids of both sides, with EOS: (B, S) and (B, T)."""


def fit(batches: Callable[[], Iterable[SourceTargetIds]], vocab_size: int) -> TranslationTable:
    """Fit a table by expectation-maximization, reading all batches in every iteration."""
    table = TranslationTable(np.ones(vocab_size, np.float32))
    for iteration in track(range(1, EM_ITERATIONS + 1), "fitting IBM model 1"):
        counts, totals = np.zeros(1 << HASH_BITS, np.float32), np.zeros(vocab_size, np.float32)
        total_distance, total_tokens = 0.0, 0.0
        for source, target in batches():
            posteriors = table.align(source, target) * (target != PAD)[:, :, None]
            np.add.at(counts, hash_slots(source, target).ravel(), posteriors.ravel())
            np.add.at(totals, source.ravel(), posteriors.sum(axis=1).ravel())
            total_distance += float((posteriors * diagonal_distance(source, target)).sum())
            total_tokens += float(posteriors.sum())
        diagonal_tension = (
            0.0
            if iteration < ITERATIONS_BEFORE_DIAGONAL
            else min(MAX_DIAGONAL_TENSION, total_tokens / max(total_distance, UNSEEN_PROBABILITY))
        )
        table = TranslationTable(np.maximum(totals, UNSEEN_PROBABILITY), counts, diagonal_tension)
    return table


def fit_corpus(corpus: Corpus, vocab_size: int) -> TranslationTable:
    """The translation table of a corpus, from a sample of at most MAX_PAIRS pairs."""
    batches = list(batches_by_length(corpus, BATCH_TOKENS, MAX_PAIRS, MAX_LENGTH)) if len(corpus) else []
    return fit(lambda: ((batch.source.numpy(), batch.target_out.numpy()) for _, batch in batches), vocab_size)


def hash_slots(source: Array, target: Array) -> Array:
    """The slot of the count of each token pair: (B, S), (B, T) -> (B, T, S). Rare pairs may share a slot."""
    with np.errstate(over="ignore"):
        hashes = (
            source.astype(np.uint64)[:, None, :] << np.uint64(32) | target.astype(np.uint64)[:, :, None]
        ) * HASH_MULTIPLIER
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.int64)


def diagonal_distance(source: Array, target: Array) -> Array:
    """Distance of each cell of the alignment matrix from its diagonal, from 0 to 1: (B, T, S)."""
    positions = [_relative_positions(side) for side in (source, target)]
    return np.abs(positions[1][:, :, None] - positions[0][:, None, :])


def _relative_positions(side: Array) -> Array:
    """Position of each token in its sentence, from 0 to 1: (B, T) -> (B, T)."""
    lengths = np.maximum(1, (side != PAD).sum(axis=1, keepdims=True))
    return np.minimum(1.0, (np.arange(side.shape[1])[None, :] + 0.5) / lengths).astype(np.float32)
