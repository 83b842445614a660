"""Populations of sentences whose true score is known, to measure intervals and tests by simulation.

Sentences differ in length and difficulty; a translation has each word of its reference right with the probability that
the sentence has. Statistics are those of sacreBLEU, counted for many corpora at once.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from regard.inspection.heads.importance import estimate_cost
from regard.inspection.heads.statistics import PatternFit
from regard.metrics import token_accuracy
from regard.metrics.corpus_sums import bleu_of_sums, corpus_interval
from regard.metrics.intervals import PERCENT

FloatArray = NDArray[np.float64]
POPULATION = 60_000
MAX_WORDS = 40
Bounds = tuple[float, float]


def sentence_lengths(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.clip(np.round(rng.lognormal(2.4, 0.5, shape)), 2, MAX_WORDS).astype(np.int64)


def bleu_statistics(rng: np.random.Generator, lengths: NDArray[np.int64], right: FloatArray) -> FloatArray:
    """BLEU's statistics (…, sentences, 10) of translations whose words are right with these probabilities."""
    hypothesis = np.clip(lengths + rng.integers(-1, 2, right.shape), 1, MAX_WORDS)
    matches = rng.random((*right.shape, MAX_WORDS)) < right[..., None]
    matches &= np.arange(MAX_WORDS) < np.minimum(hypothesis, lengths)[..., None]
    columns = [hypothesis, np.broadcast_to(lengths, hypothesis.shape)]
    counts, totals, runs = [], [], matches
    for order in range(1, 5):
        runs = matches if order == 1 else runs[..., :-1] & matches[..., order - 1 :]
        counts.append(runs.sum(axis=-1))
        totals.append(np.maximum(hypothesis - order + 1, 0))
    return np.stack([*columns, *counts, *totals], axis=-1).astype(np.float64)


def equal_systems(rng: np.random.Generator, num_systems: int, num_sentences: int) -> FloatArray:
    """Statistics (systems, sentences, 10) of systems that are equally good: only chance tells them apart."""
    lengths = sentence_lengths(rng, (num_sentences,))
    right = np.broadcast_to(rng.beta(3, 1.5, num_sentences), (num_systems, num_sentences))
    return bleu_statistics(rng, lengths, right)


class Population(NamedTuple):
    """Rows of sentences, their true score, and what Regard says of a sample."""

    name: str
    rows: FloatArray
    truth: float
    interval: Callable[[FloatArray], Bounds]


def accuracy_interval(rows: FloatArray) -> Bounds:
    score = token_accuracy(rows[:, 0].tolist(), rows[:, 1].tolist())
    assert score.low is not None and score.high is not None
    return score.low, score.high


def bleu_interval(rows: FloatArray) -> Bounds:
    interval = corpus_interval(BLEU(force=True), rows, PERCENT)
    assert interval is not None
    return float(interval.low), float(interval.high)


def cost_interval(rows: FloatArray) -> Bounds:
    estimate = estimate_cost(rows[:, 0], rows[:, 1])
    assert estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.high


def lift_interval(rows: FloatArray) -> Bounds:
    interval = PatternFit(rows[:, :1], rows[:, :1], rows[:, 2], rows[:, 1]).confidence_interval()
    assert interval is not None
    return float(interval[0][0]), float(interval[1][0])


def populations() -> Iterator[Population]:
    """Accuracy, BLEU, the cost of a head and the lift of a pattern: low, middling and high, symmetric and skewed."""
    rng = np.random.default_rng(1)
    lengths = sentence_lengths(rng, (POPULATION,))
    for a, b in ((6.5, 3.5), (8.5, 1.5), (9.5, 0.5)):
        rows = np.stack([rng.binomial(lengths, rng.beta(a, b, POPULATION)), lengths], axis=1).astype(float)
        truth = 100 * rows[:, 0].sum() / rows[:, 1].sum()
        yield Population(f"accuracy {truth:.0f}", rows, truth, accuracy_interval)
    for a, b in ((5, 5), (3, 1.5), (6, 0.8)):
        rows = bleu_statistics(rng, lengths, rng.beta(a, b, POPULATION))
        truth = float(bleu_of_sums(rows.sum(axis=0)))
        yield Population(f"BLEU {truth:.0f}", rows, truth, bleu_interval)
    costs = {
        "symmetric": lengths * rng.normal(0.05, 0.2, POPULATION),
        "skewed": lengths * rng.gamma(1, 0.1, POPULATION) + rng.normal(0, 0.3, POPULATION),
        "heavy tails": 0.3 * np.sqrt(lengths) * rng.standard_t(4, POPULATION) + 0.05 * lengths,
    }
    for name, cost in costs.items():
        truth = cost.sum() / lengths.sum()
        yield Population(f"head cost, {name}", np.stack([cost, lengths], axis=1), truth, cost_interval)
    for a, b in ((2, 4), (8, 2), (19, 1)):
        rows = np.stack([lengths * rng.beta(a, b, POPULATION), lengths, np.ones(POPULATION)], axis=1)
        truth = (rows[:, 0].sum() - POPULATION) / (lengths.sum() - POPULATION)
        yield Population(f"lift {truth:.2f}", rows, truth, lift_interval)


def coverage(population: Population, num_sentences: int, repeats: int, seed: int = 2) -> float:
    """The share of samples whose interval holds the truth."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(repeats):
        low, high = population.interval(population.rows[rng.integers(0, POPULATION, num_sentences)])
        hits += low <= population.truth <= high
    return hits / repeats
