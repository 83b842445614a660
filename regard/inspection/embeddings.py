"""Contextuality: how much the vector of a word depends on its sentence, layer by layer.

The vectors of a layer are anisotropic, and a few rogue dimensions may dominate every cosine. So each score is corrected
by that of unrelated words (its baseline), and all are given twice: raw, and with every dimension standardized.
Ethayarajh 2019; Timkey and van Schijndel 2021.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.example import Example, token_positions
from regard.inspection.trace import Model
from regard.inspection.word_states import read_layers
from regard.model.modules import evaluation_mode
from regard.progress import track

Vectors = NDArray[np.float64]
NUM_PERMUTATIONS = 999


@dataclass(frozen=True)
class LayerVectors:
    """The vectors of one word's occurrences in one layer, and those that they are compared with."""

    name: str
    vectors: Vectors
    """(occurrences, D): the mean over the word's tokens."""
    random_vectors: Vectors
    """(sentences, D): one random token of each sentence, for the baseline."""
    sentence_vectors: tuple[Vectors, ...]
    """All tokens of each sentence, (T, D)."""


@dataclass(frozen=True)
class SimilarityScores:
    """Similarities of vectors, less the baseline of unrelated words."""

    self_similarity: float
    """SelfSim: cosine of the word with itself in other sentences."""
    intra_sentence_similarity: float
    """IntraSim: cosine of a sentence's tokens with their mean."""
    max_explained_variance: float
    """MEV: share of variance of the first principal component of the word's vectors."""
    anisotropy: float
    """The mean cosine of unrelated words, which is subtracted from SelfSim and IntraSim."""


@dataclass(frozen=True)
class Contextuality:
    """How contextual a word is in one layer."""

    layer: str
    raw: SimilarityScores
    standardized: SimilarityScores
    """The same with every dimension standardized."""
    sense_auc: float | None
    """AUC: how often a pair of the same sense is closer than a pair of different senses; 0.5 is chance. None without
    senses."""
    nearest_sense_accuracy: float | None
    """Share of occurrences whose nearest other occurrence has the same sense."""
    same_sense_cosine: float | None = None
    """The mean cosine of two occurrences of the same sense, as it is: neither standardized nor corrected."""
    other_sense_cosine: float | None = None
    """The mean cosine of two occurrences of different senses."""


def collect_word_vectors(model: Model, examples: Sequence[Example], word: str, seed: int = 1) -> list[LayerVectors]:
    """The vectors of a word: in the static embedding table, with positions added, then after each layer."""
    rng = np.random.default_rng(seed)
    vectors_by_layer: dict[str, list[_SentenceVectors]] = {}
    for example in track(examples, "embedding sentences"):
        positions = token_positions(example.source, word)
        candidates = [
            i for i, word_id in enumerate(example.source.word_ids) if word_id >= 0 and i not in positions
        ] or positions
        random_position = int(rng.choice(candidates))
        with evaluation_mode(model), torch.inference_mode():
            hidden_states = read_layers(model, [example.source.ids])
        for name, hidden_state in hidden_states.items():
            rows = hidden_state[0].double().cpu().numpy()
            vectors_by_layer.setdefault(name, []).append(
                _SentenceVectors(rows[positions].mean(axis=0), rows[random_position], rows)
            )
    return [
        LayerVectors(
            name,
            np.stack([sentence.word for sentence in sentences]),
            np.stack([sentence.random for sentence in sentences]),
            tuple(sentence.tokens for sentence in sentences),
        )
        for name, sentences in vectors_by_layer.items()
    ]


class _SentenceVectors(NamedTuple):
    """The vectors of one sentence in one layer."""

    word: Vectors
    random: Vectors
    tokens: Vectors


def measure_contextuality(layer: LayerVectors, senses: Sequence[str] | None = None) -> Contextuality:
    """All measures of one layer."""
    standardize = make_standardizer(layer)
    labels = senses if senses is not None and len(set(senses)) > 1 else None
    same, other = sense_cosines(layer.vectors, labels) if labels else (None, None)
    return Contextuality(
        layer=layer.name,
        raw=measure_similarity(layer.vectors, layer.random_vectors, layer.sentence_vectors),
        standardized=measure_similarity(
            standardize(layer.vectors),
            standardize(layer.random_vectors),
            [standardize(rows) for rows in layer.sentence_vectors],
        ),
        sense_auc=sense_auc(standardize(layer.vectors), labels) if labels else None,
        nearest_sense_accuracy=nearest_sense_accuracy(standardize(layer.vectors), labels) if labels else None,
        same_sense_cosine=same,
        other_sense_cosine=other,
    )


def sense_cosines(vectors: Vectors, senses: Sequence[str]) -> tuple[float, float]:
    """The mean cosine of pairs of the same sense, and of pairs of different senses; NaN if there is no such pair."""
    first, second = np.triu_indices(len(vectors), 1)
    cosines, labels = cosine_matrix(vectors)[first, second], np.array(senses)
    same = labels[first] == labels[second]
    means = (float(cosines[pairs].mean()) if pairs.any() else math.nan for pairs in (same, ~same))
    return next(means), next(means)


def make_standardizer(layer: LayerVectors) -> Callable[[Vectors], Vectors]:
    """A function that standardizes every dimension to mean 0 and deviation 1 over all tokens of a layer."""
    all_vectors = np.concatenate(layer.sentence_vectors)
    mean, deviation = all_vectors.mean(axis=0), all_vectors.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, 1.0)
    return lambda x: np.asarray((x - mean) / scale)


def measure_similarity(
    vectors: Vectors, random_vectors: Vectors, sentence_vectors: Sequence[Vectors]
) -> SimilarityScores:
    """SelfSim, IntraSim and MEV of a word's vectors, corrected by those of unrelated words."""
    anisotropy = mean_cosine(random_vectors)
    intra_similarity_mean = float(np.mean([intra_sentence_similarity(rows) for rows in sentence_vectors]))
    explained_gain = max_explained_variance(vectors) - max_explained_variance(random_vectors)
    return SimilarityScores(
        mean_cosine(vectors) - anisotropy, intra_similarity_mean - anisotropy, explained_gain, anisotropy
    )


def cosine_matrix(vectors: Vectors) -> Vectors:
    """Pairwise cosines: (N, D) -> (N, N)."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)
    return np.asarray(unit @ unit.T)


def mean_cosine(vectors: Vectors) -> float:
    """SelfSim: the mean cosine of all pairs of different vectors; NaN if there is no pair."""
    n = len(vectors)
    return float((cosine_matrix(vectors).sum() - n) / (n * (n - 1))) if n > 1 else math.nan


def intra_sentence_similarity(rows: Vectors) -> float:
    """IntraSim: the mean cosine of a sentence's tokens with their mean."""
    center = rows.mean(axis=0)
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(center)
    return float(np.mean(rows @ center / np.maximum(norms, 1e-30)))


def max_explained_variance(vectors: Vectors) -> float:
    """MEV = σ₁² / Σ σ², not centered, so that it is 1 for a word whose vector never changes."""
    squares = np.linalg.svd(vectors, compute_uv=False) ** 2
    return float(squares[0] / max(float(squares.sum()), 1e-30))


def sense_auc(vectors: Vectors, senses: Sequence[str]) -> float:
    """How often two occurrences of one sense are closer than two of different senses: an AUC, ties count half."""
    labels = np.unique(np.array(senses), return_inverse=True)[1]
    return float(_auc_of_ranks(_rank_pairs(vectors)[None], labels)[0])


def permutation_p_value(layers: Sequence[LayerVectors], senses: Sequence[str], seed: int = 1) -> float:
    """The share of permuted labels for which the best of all layers has at least the AUC that the senses have.

    The maximum over layers is taken in every permutation as well, so that many layers do not make an AUC significant.
    """
    rng = np.random.default_rng(seed)
    ranks = np.stack([_rank_pairs(make_standardizer(layer)(layer.vectors)) for layer in layers])
    labels = np.unique(np.array(senses), return_inverse=True)[1]
    best = _auc_of_ranks(ranks, labels).max()
    if math.isnan(best):
        return math.nan
    hits = sum(_auc_of_ranks(ranks, rng.permutation(labels)).max() >= best - 1e-12 for _ in range(NUM_PERMUTATIONS))
    return float((1 + hits) / (1 + NUM_PERMUTATIONS))  # the labels as they are count as a permutation


def _rank_pairs(vectors: Vectors) -> Vectors:
    """The rank of the cosine of each pair of occurrences, (pairs); equal ones have their mean rank."""
    from scipy import stats

    similarities = np.round(cosine_matrix(vectors), 12)
    return np.asarray(stats.rankdata(similarities[np.triu_indices(len(similarities), 1)]), np.float64)


def _auc_of_ranks(ranks: Vectors, labels: NDArray[np.int64]) -> Vectors:
    """The AUC of pairs with the same label against the others, from the ranks of all: (layers, pairs) -> (layers)."""
    first, second = np.triu_indices(len(labels), 1)
    same = labels[first] == labels[second]
    num_same, num_cross = int(same.sum()), int((~same).sum())
    if not num_same or not num_cross:
        return np.full(len(ranks), math.nan)
    return np.asarray((ranks @ same - num_same * (num_same + 1) / 2) / (num_same * num_cross), np.float64)


def nearest_sense_accuracy(vectors: Vectors, senses: Sequence[str]) -> float:
    """The share of occurrences whose nearest other occurrence has the same sense; ties are averaged."""
    similarities = np.round(cosine_matrix(vectors), 12)
    np.fill_diagonal(similarities, -np.inf)
    hits = [
        np.mean([senses[j] == senses[i] for j in np.flatnonzero(row == row.max()).tolist()])
        for i, row in enumerate(similarities)
    ]
    return float(np.mean(hits))


def project_2d(layers: Sequence[LayerVectors]) -> list[Vectors]:
    """A projection of each layer's occurrences to two dimensions, (N, 2) each, by PCA of the standardized vectors.

    All layers share the same principal axes, so that points can be followed from one layer to the next.
    """
    vectors = [make_standardizer(layer)(layer.vectors) for layer in layers]
    vectors = [rows - rows.mean(axis=0) for rows in vectors]
    _, _, axes = np.linalg.svd(np.concatenate(vectors), full_matrices=False)
    return [np.round(rows @ axes[:2].T, 9) for rows in vectors]  # so that equal vectors are one point


class Neighbor(NamedTuple):
    """A row of an embedding table, and its cosine with a vector."""

    token_id: int
    cosine: float


def nearest_neighbors(table: Tensor, vector: Vectors, count: int, skip: Sequence[int] = ()) -> list[Neighbor]:
    """The rows of an embedding table (V, D) nearest to a vector by cosine, nearest first."""
    rows = table.detach().double().cpu().numpy()
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30)
    similarities = unit @ (vector / max(float(np.linalg.norm(vector)), 1e-30))
    order = [int(i) for i in np.argsort(-similarities) if i not in set(skip)]
    return [Neighbor(i, float(similarities[i])) for i in order[:count]]
