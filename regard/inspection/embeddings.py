"""One word in many sentences, layer by layer: how much of its vector is the word's, and how much the sentence's.

Vectors of a layer crowd in a cone, and a few rogue coordinates may decide every cosine. So each number stands beside
what unrelated words score (its baseline), and all are given twice: raw, and with every coordinate standardised.
Ethayarajh 2019; Timkey and van Schijndel 2021.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.example import Example, pieces_of
from regard.inspection.trace import Model, encoder_of, trace

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """One word's occurrences in one layer, and what they are to be compared with."""

    name: str
    vectors: Vectors
    """(occurrences, D): the mean of the word's pieces."""
    others: Vectors
    """(sentences, D): one random word of each sentence, for the baseline."""
    sentences: tuple[Vectors, ...]
    """Every piece of each sentence, (T, D)."""


@dataclass(frozen=True)
class Alike:
    """How alike vectors are, with what unrelated words score taken off."""

    itself: float
    """SelfSim: the word with itself in other sentences."""
    sentence: float
    """IntraSim: a sentence's pieces with their mean."""
    explained: float
    """MEV: the share of the first component of the word's vectors."""
    baseline: float
    """The mean cosine of unrelated words, which was taken off the first two: how narrow the cone is."""


@dataclass(frozen=True)
class Contextuality:
    """How contextual a word is in a layer."""

    layer: str
    raw: Alike
    standard: Alike
    """The same with every coordinate standardised."""
    senses: float | None
    """AUC: how often a pair of one sense is closer than a pair of two; 0.5 is chance. None without senses."""
    nearest: float | None
    """How often the nearest other occurrence has the same sense."""


def layers_of(model: Model, examples: Sequence[Example], word: str, seed: int = 1) -> list[Layer]:
    """A word's vectors in every layer: the static table first, then with positions, then layer by layer."""
    rng = np.random.default_rng(seed)
    stack = encoder_of(model)
    found: dict[str, list[list[Vectors]]] = {}
    for example in examples:
        own = pieces_of(example.source, word)
        free = [i for i, at in enumerate(example.source.word) if at >= 0 and i not in own] or own
        other = int(rng.choice(free))
        with torch.no_grad():
            static = stack.embedding.tokens(torch.tensor(example.source.ids))
        streams = {"static": static, **_encoder_streams(model, example)}
        for name, stream in streams.items():
            rows = stream.double().cpu().numpy()
            found.setdefault(name, []).append([rows[own].mean(axis=0), rows[other], rows])
    return [
        Layer(name, np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows]), tuple(r[2] for r in rows))
        for name, rows in found.items()
    ]


def _encoder_streams(model: Model, example: Example) -> dict[str, Tensor]:
    seen = trace(model, example).streams
    names = {"encoder.embed": "with position"}
    kept = {name: tensor for name, tensor in seen.items() if name.startswith("encoder.")}
    return {names.get(name, f"layer {name.split('.')[1]}"): tensor for name, tensor in kept.items()}


def contextuality(layer: Layer, senses: Sequence[str] | None = None) -> Contextuality:
    """The measures of one layer."""
    standard = standardiser(layer)
    told = senses is not None and len(set(senses)) > 1
    return Contextuality(
        layer=layer.name,
        raw=alike(layer.vectors, layer.others, layer.sentences),
        standard=alike(standard(layer.vectors), standard(layer.others), [standard(rows) for rows in layer.sentences]),
        senses=separation(standard(layer.vectors), senses) if told and senses else None,
        nearest=nearest_sense(standard(layer.vectors), senses) if told and senses else None,
    )


def standardiser(layer: Layer) -> Callable[[Vectors], Vectors]:
    """Vectors with every coordinate brought to mean 0 and deviation 1 over all pieces of a layer."""
    everything = np.concatenate(layer.sentences)
    mean, deviation = everything.mean(axis=0), everything.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, 1.0)
    return lambda x: np.asarray((x - mean) / scale)


def alike(vectors: Vectors, others: Vectors, sentences: Sequence[Vectors]) -> Alike:
    """A word's vectors, those of unrelated words, and whole sentences."""
    baseline = mean_cosine(others)
    within = float(np.mean([intra_similarity(rows) for rows in sentences]))
    more = explained(vectors) - explained(others)
    return Alike(mean_cosine(vectors) - baseline, within - baseline, more, baseline)


def cosines(vectors: Vectors) -> Vectors:
    """The cosine of every two vectors: (N, D) -> (N, N)."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    return np.asarray(unit @ unit.T)


def mean_cosine(vectors: Vectors) -> float:
    """SelfSim: the mean cosine of all pairs, none with itself; NaN where there is no pair."""
    n = len(vectors)
    return float((cosines(vectors).sum() - n) / (n * (n - 1))) if n > 1 else math.nan


def intra_similarity(rows: Vectors) -> float:
    """IntraSim: the mean cosine of a sentence's pieces with their mean."""
    centre = rows.mean(axis=0)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(centre)
    return float(np.mean(rows @ centre / np.maximum(lengths, 1e-30)))


def explained(vectors: Vectors) -> float:
    """MEV = σ₁² / Σ σ²: not centred, so that a word which never changes has 1."""
    squares = np.linalg.svd(vectors, compute_uv=False) ** 2
    return float(squares[0] / max(float(squares.sum()), 1e-30))


def separation(vectors: Vectors, senses: Sequence[str]) -> float:
    """How often two occurrences of one sense are closer than two of different ones: an AUC, ties count half."""
    close = cosines(vectors)
    above = np.triu(np.ones_like(close, dtype=bool), 1)
    same = np.array([[a == b for b in senses] for a in senses]) & above
    one, two = close[same], close[above & ~same]
    if not len(one) or not len(two):
        return math.nan
    difference = np.round(one[:, None] - two[None, :], 12)
    return float((difference > 0).mean() + (difference == 0).mean() / 2)


def nearest_sense(vectors: Vectors, senses: Sequence[str]) -> float:
    """The share of occurrences whose nearest other one has the same sense; ties are shared."""
    close = np.round(cosines(vectors), 12)
    np.fill_diagonal(close, -np.inf)
    hits = [
        np.mean([senses[j] == senses[i] for j in np.flatnonzero(row == row.max()).tolist()])
        for i, row in enumerate(close)
    ]
    return float(np.mean(hits))


def projection(layers: Sequence[Layer]) -> list[Vectors]:
    """Two dimensions for every layer's occurrences, (N, 2) each: standardised, and seen along the same two axes.

    They are the principal axes of all layers together, so that points can be followed from one to the next.
    """
    every = [standardiser(layer)(layer.vectors) for layer in layers]
    every = [rows - rows.mean(axis=0) for rows in every]
    _, _, axes = np.linalg.svd(np.concatenate(every), full_matrices=False)
    return [np.round(rows @ axes[:2].T, 9) for rows in every]  # a word that never changes is one point


def neighbours(table: Tensor, vector: Vectors, count: int, skip: Sequence[int] = ()) -> list[tuple[int, float]]:
    """The rows of a table (V, D) nearest to a vector by cosine, best first."""
    rows = table.detach().double().cpu().numpy()
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    close = unit @ (vector / max(float(np.linalg.norm(vector)), 1e-30))
    order = [int(i) for i in np.argsort(-close) if i not in set(skip)]
    return [(i, float(close[i])) for i in order[:count]]
