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

from regard.inspection.example import Example, token_positions
from regard.inspection.trace import Model, get_encoder, trace_forward

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class LayerVectors:
    """One word's occurrences in one layer, and what they are to be compared with."""

    name: str
    vectors: Vectors
    """(occurrences, D): the mean of the word's pieces."""
    random_vectors: Vectors
    """(sentences, D): one random word of each sentence, for the baseline."""
    sentence_vectors: tuple[Vectors, ...]
    """Every piece of each sentence, (T, D)."""


@dataclass(frozen=True)
class SimilarityScores:
    """How alike vectors are, with what unrelated words score taken off."""

    self_similarity: float
    """SelfSim: the word with itself in other sentences."""
    intra_sentence_similarity: float
    """IntraSim: a sentence's pieces with their mean."""
    max_explained_variance: float
    """MEV: the share of the first component of the word's vectors."""
    anisotropy: float
    """The mean cosine of unrelated words, which was taken off the first two: how narrow the cone is."""


@dataclass(frozen=True)
class Contextuality:
    """How contextual a word is in a layer."""

    layer: str
    raw: SimilarityScores
    standardized: SimilarityScores
    """The same with every coordinate standardised."""
    sense_auc: float | None
    """AUC: how often a pair of one sense is closer than a pair of two; 0.5 is chance. None without senses."""
    nearest_sense_accuracy: float | None
    """How often the nearest other occurrence has the same sense."""


def collect_word_vectors(model: Model, examples: Sequence[Example], word: str, seed: int = 1) -> list[LayerVectors]:
    """A word's vectors in every layer: the static table first, then with positions, then layer by layer."""
    rng = np.random.default_rng(seed)
    stack = get_encoder(model)
    vectors_by_layer: dict[str, list[list[Vectors]]] = {}
    for example in examples:
        positions = token_positions(example.source, word)
        candidates = [
            i for i, word_id in enumerate(example.source.word_ids) if word_id >= 0 and i not in positions
        ] or positions
        random_position = int(rng.choice(candidates))
        with torch.no_grad():
            static = stack.embedding.tokens(torch.tensor(example.source.ids))
        hidden_states = {"static": static, **_encoder_hidden_states(model, example)}
        for name, hidden_state in hidden_states.items():
            rows = hidden_state.double().cpu().numpy()
            vectors_by_layer.setdefault(name, []).append([rows[positions].mean(axis=0), rows[random_position], rows])
    return [
        LayerVectors(name, np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows]), tuple(r[2] for r in rows))
        for name, rows in vectors_by_layer.items()
    ]


def _encoder_hidden_states(model: Model, example: Example) -> dict[str, Tensor]:
    hidden_states = trace_forward(model, example).hidden_states
    names = {"encoder.embed": "with position"}
    encoder_states = {name: tensor for name, tensor in hidden_states.items() if name.startswith("encoder.")}
    return {names.get(name, f"layer {name.split('.')[1]}"): tensor for name, tensor in encoder_states.items()}


def measure_contextuality(layer: LayerVectors, senses: Sequence[str] | None = None) -> Contextuality:
    """The measures of one layer."""
    standardize = make_standardizer(layer)
    has_senses = senses is not None and len(set(senses)) > 1
    return Contextuality(
        layer=layer.name,
        raw=measure_similarity(layer.vectors, layer.random_vectors, layer.sentence_vectors),
        standardized=measure_similarity(
            standardize(layer.vectors),
            standardize(layer.random_vectors),
            [standardize(rows) for rows in layer.sentence_vectors],
        ),
        sense_auc=sense_auc(standardize(layer.vectors), senses) if has_senses and senses else None,
        nearest_sense_accuracy=nearest_sense_accuracy(standardize(layer.vectors), senses)
        if has_senses and senses
        else None,
    )


def make_standardizer(layer: LayerVectors) -> Callable[[Vectors], Vectors]:
    """Vectors with every coordinate brought to mean 0 and deviation 1 over all pieces of a layer."""
    all_vectors = np.concatenate(layer.sentence_vectors)
    mean, deviation = all_vectors.mean(axis=0), all_vectors.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, 1.0)
    return lambda x: np.asarray((x - mean) / scale)


def measure_similarity(
    vectors: Vectors, random_vectors: Vectors, sentence_vectors: Sequence[Vectors]
) -> SimilarityScores:
    """A word's vectors, those of unrelated words, and whole sentences."""
    anisotropy = mean_cosine(random_vectors)
    intra_similarity_mean = float(np.mean([intra_sentence_similarity(rows) for rows in sentence_vectors]))
    explained_gain = max_explained_variance(vectors) - max_explained_variance(random_vectors)
    return SimilarityScores(
        mean_cosine(vectors) - anisotropy, intra_similarity_mean - anisotropy, explained_gain, anisotropy
    )


def cosine_matrix(vectors: Vectors) -> Vectors:
    """The cosine of every two vectors: (N, D) -> (N, N)."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    return np.asarray(unit @ unit.T)


def mean_cosine(vectors: Vectors) -> float:
    """SelfSim: the mean cosine of all pairs, none with itself; NaN where there is no pair."""
    n = len(vectors)
    return float((cosine_matrix(vectors).sum() - n) / (n * (n - 1))) if n > 1 else math.nan


def intra_sentence_similarity(rows: Vectors) -> float:
    """IntraSim: the mean cosine of a sentence's pieces with their mean."""
    center = rows.mean(axis=0)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(center)
    return float(np.mean(rows @ center / np.maximum(norms, 1e-30)))


def max_explained_variance(vectors: Vectors) -> float:
    """MEV = σ₁² / Σ σ²: not centred, so that a word which never changes has 1."""
    squares = np.linalg.svd(vectors, compute_uv=False) ** 2
    return float(squares[0] / max(float(squares.sum()), 1e-30))


def sense_auc(vectors: Vectors, senses: Sequence[str]) -> float:
    """How often two occurrences of one sense are closer than two of different ones: an AUC, ties count half."""
    similarities = cosine_matrix(vectors)
    upper_triangle = np.triu(np.ones_like(similarities, dtype=bool), 1)
    same = np.array([[a == b for b in senses] for a in senses]) & upper_triangle
    same_sense, cross_sense = similarities[same], similarities[upper_triangle & ~same]
    if not len(same_sense) or not len(cross_sense):
        return math.nan
    difference = np.round(same_sense[:, None] - cross_sense[None, :], 12)
    return float((difference > 0).mean() + (difference == 0).mean() / 2)


def nearest_sense_accuracy(vectors: Vectors, senses: Sequence[str]) -> float:
    """The share of occurrences whose nearest other one has the same sense; ties are shared."""
    similarities = np.round(cosine_matrix(vectors), 12)
    np.fill_diagonal(similarities, -np.inf)
    hits = [
        np.mean([senses[j] == senses[i] for j in np.flatnonzero(row == row.max()).tolist()])
        for i, row in enumerate(similarities)
    ]
    return float(np.mean(hits))


def project_2d(layers: Sequence[LayerVectors]) -> list[Vectors]:
    """Two dimensions for every layer's occurrences, (N, 2) each: standardised, and seen along the same two axes.

    They are the principal axes of all layers together, so that points can be followed from one to the next.
    """
    vectors = [make_standardizer(layer)(layer.vectors) for layer in layers]
    vectors = [rows - rows.mean(axis=0) for rows in vectors]
    _, _, axes = np.linalg.svd(np.concatenate(vectors), full_matrices=False)
    return [np.round(rows @ axes[:2].T, 9) for rows in vectors]  # a word that never changes is one point


def nearest_neighbors(table: Tensor, vector: Vectors, count: int, skip: Sequence[int] = ()) -> list[tuple[int, float]]:
    """The rows of a table (V, D) nearest to a vector by cosine, best first."""
    rows = table.detach().double().cpu().numpy()
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    similarities = unit @ (vector / max(float(np.linalg.norm(vector)), 1e-30))
    order = [int(i) for i in np.argsort(-similarities) if i not in set(skip)]
    return [(i, float(similarities[i])) for i in order[:count]]
