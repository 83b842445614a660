"""Measures of word vectors by explicit loops over pairs, tokens and permutations."""

import itertools
import math

import numpy as np
import pytest
import torch

from regard.inspection import embeddings
from regard.inspection.example import Example, TokenizedText
from regard.inspection.trace import trace_forward
from tests.inspection.conftest import config_of, model_of
from tests.inspection.test_embeddings import encoder

RNG = np.random.default_rng(7)
ROWS = RNG.normal(size=(7, 5)) * np.array([1, 2, 3, 5, 7]) + 1
SENSES = ["a", "b", "a", "c", "b", "b", "a"]


def cosine(x, y) -> float:
    return float(sum(a * b for a, b in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y))


def pairs_by_sense(vectors, senses) -> tuple[list[float], list[float]]:
    same, different = [], []
    for i, j in itertools.combinations(range(len(vectors)), 2):
        (same if senses[i] == senses[j] else different).append(round(cosine(vectors[i], vectors[j]), 12))
    return same, different


def auc(vectors, senses) -> float:
    same, different = pairs_by_sense(vectors, senses)
    return float(np.mean([(x > y) + 0.5 * (x == y) for x in same for y in different]))


def test_cosines_are_those_of_pairs():
    pairs = [cosine(a, b) for a, b in itertools.combinations(ROWS, 2)]
    assert embeddings.mean_cosine(ROWS) == pytest.approx(np.mean(pairs))
    assert embeddings.mean_cosine(ROWS[:2]) == pytest.approx(cosine(*ROWS[:2]))
    assert math.isnan(embeddings.mean_cosine(ROWS[:1]))
    center = [sum(column) / len(ROWS) for column in ROWS.T]
    assert embeddings.intra_sentence_similarity(ROWS) == pytest.approx(np.mean([cosine(row, center) for row in ROWS]))
    nothing = np.zeros((3, 5))
    assert embeddings.intra_sentence_similarity(nothing) == embeddings.max_explained_variance(nothing) == 0
    assert not embeddings.cosine_matrix(nothing).any()


def test_the_explained_variance_is_the_largest_eigenvalue_by_their_sum():
    eigenvalues = np.linalg.eigvalsh(ROWS.T @ ROWS)
    assert embeddings.max_explained_variance(ROWS) == pytest.approx(eigenvalues[-1] / eigenvalues.sum())


def test_similarities_are_less_those_of_unrelated_words():
    words, other, sentences = ROWS[:3], ROWS[3:], (ROWS[:4], ROWS[2:])
    found = embeddings.measure_similarity(words, other, sentences)
    level = embeddings.mean_cosine(other)
    assert found.anisotropy == level and found.self_similarity == pytest.approx(embeddings.mean_cosine(words) - level)
    intra = sum(embeddings.intra_sentence_similarity(rows) for rows in sentences) / 2
    assert found.intra_sentence_similarity == pytest.approx(intra - level)
    mev = embeddings.max_explained_variance
    assert found.max_explained_variance == pytest.approx(mev(words) - mev(other))


def test_standardized_tokens_have_mean_nought_and_deviation_one():
    constant = np.concatenate((ROWS, np.full((7, 1), 3.0)), axis=1)
    layer = embeddings.LayerVectors("x", constant[:2], constant[2:4], (constant[:4], constant[4:]))
    standardize = embeddings.make_standardizer(layer)
    found = standardize(constant)
    assert found.mean(axis=0) == pytest.approx(np.zeros(6)) and found.std(axis=0)[:5] == pytest.approx(np.ones(5))
    assert not found[:, 5].any() and standardize(constant + 2)[:, 5] == pytest.approx(2)
    measured = embeddings.measure_contextuality(layer, ["a", "b"])
    assert measured.layer == "x" and measured.raw == embeddings.measure_similarity(
        constant[:2], constant[2:4], layer.sentence_vectors
    )
    parts = (standardize(part) for part in (constant[:2], constant[2:4]))
    sentences = [standardize(rows) for rows in layer.sentence_vectors]
    assert measured.standardized == embeddings.measure_similarity(*parts, sentences)


def test_senses_are_told_by_standardized_vectors_and_only_where_there_are_two():
    layer = embeddings.LayerVectors("x", ROWS, ROWS, (ROWS,))
    vectors = embeddings.make_standardizer(layer)(ROWS)
    found = embeddings.measure_contextuality(layer, SENSES)
    assert found.sense_auc == embeddings.sense_auc(vectors, SENSES) != embeddings.sense_auc(ROWS, SENSES)
    assert found.nearest_sense_accuracy == embeddings.nearest_sense_accuracy(vectors, SENSES)
    for senses in (None, ["a"] * 7):
        without = embeddings.measure_contextuality(layer, senses)
        assert without.sense_auc is without.nearest_sense_accuracy is None


def test_an_auc_counts_pairs_of_pairs_and_ties_half():
    assert embeddings.sense_auc(ROWS, SENSES) == pytest.approx(auc(ROWS, SENSES))
    tied = np.stack([ROWS[0], ROWS[0], ROWS[1], ROWS[1], ROWS[0] * 2, ROWS[2]])
    for senses in ("aabbcc", "ababab", "aaabbb", "abccba"):
        assert embeddings.sense_auc(tied, list(senses)) == pytest.approx(auc(tied, senses)), senses


def test_the_nearest_has_the_same_sense_or_not_and_equal_ones_are_averaged():
    tied = np.stack([ROWS[0], ROWS[0], ROWS[0], ROWS[1], ROWS[1], ROWS[2]])
    senses = list("aabbab")
    hits = []
    for i, row in enumerate(tied):
        others = {j: round(cosine(row, other), 12) for j, other in enumerate(tied) if j != i}
        nearest = [j for j, value in others.items() if value == max(others.values())]
        hits.append(sum(senses[j] == senses[i] for j in nearest) / len(nearest))
    assert embeddings.nearest_sense_accuracy(tied, senses) == pytest.approx(sum(hits) / 6)


def test_a_p_value_is_the_share_of_permutations_that_do_as_well():
    """Of four occurrences in two senses, one in three partitions is the given one."""
    apart = np.array([[1.0, 0.02], [1.0, 0.01], [-1.0, 0.03], [-1.0, 0.05]])
    layer = embeddings.LayerVectors("x", apart, apart, (apart,))
    assert embeddings.permutation_p_value([layer], list("aabb")) == pytest.approx(1 / 3, abs=0.05)
    assert embeddings.permutation_p_value([layer], list("aabb"), seed=2) != embeddings.permutation_p_value(
        [layer], list("aabb")
    )
    same = np.ones((4, 2))
    flat = embeddings.LayerVectors("x", same, same, (same,))
    assert embeddings.permutation_p_value([flat], list("aabb")) == 1  # every permutation is as good
    senses = ["a"] * 6 + ["b"] * 6
    clear = np.random.default_rng(3).normal(size=(12, 3)) + 40 * np.array([[s == "a", s == "b", 0] for s in senses])
    best = embeddings.LayerVectors("x", clear, clear, (clear,))
    noisy = embeddings.LayerVectors("x", clear[::-1] * 0 + ROWS[0, :3], clear, (clear,))
    for layers in ([best], [best, noisy], [noisy, best]):  # 2 of 924 permutations, and the labels as they are
        assert 1 / 1000 <= embeddings.permutation_p_value(layers, senses) < 0.01
    assert math.isnan(embeddings.permutation_p_value([best], ["a"] * 12))


def test_a_projection_keeps_the_distances_of_a_plane_and_its_first_axis_is_the_widest():
    plane = RNG.normal(size=(7, 2)) * np.array([5.0, 1.0]) @ np.linalg.qr(RNG.normal(size=(5, 2)))[0].T + 3
    layer = embeddings.LayerVectors("x", plane, plane, (plane,))
    standardized = embeddings.make_standardizer(layer)(plane)
    (flat,) = embeddings.project_2d([layer])
    for i, j in itertools.combinations(range(7), 2):
        assert math.dist(flat[i], flat[j]) == pytest.approx(math.dist(standardized[i], standardized[j]), abs=1e-7)
    assert flat.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-8) and flat[:, 0].std() > flat[:, 1].std()
    assert np.array_equal(flat, np.round(flat, 9))
    one = embeddings.LayerVectors("x", ROWS, ROWS, (ROWS,))
    first, second = embeddings.project_2d([one, embeddings.LayerVectors("y", ROWS * 3 + 1, ROWS, (ROWS * 3 + 1,))])
    assert first == pytest.approx(second, abs=1e-8)  # scale and place are taken away


def test_neighbors_are_ranked_by_cosine_and_some_are_skipped():
    table, vector = torch.from_numpy(ROWS), ROWS[2] + 0.5
    values = {i: cosine(row, vector) for i, row in enumerate(ROWS)}
    ranked = sorted(values, key=values.__getitem__, reverse=True)
    for skip in ([], [ranked[0]], [ranked[1], ranked[3]]):
        found = embeddings.nearest_neighbors(table.requires_grad_(), vector, 3, skip)
        expected = [i for i in ranked if i not in skip][:3]
        assert [one.token_id for one in found] == expected
        assert [one.cosine for one in found] == pytest.approx([values[i] for i in expected])
    assert [one.cosine for one in embeddings.nearest_neighbors(table, np.zeros(5), 2)] == [0, 0]


def test_the_vectors_of_a_word_are_the_means_of_its_tokens_in_every_layer():
    """The word is tokens 1 and 2, and in the second sentence all that there is but for a special token."""
    sides = [
        TokenizedText("a bank b", (5, 6, 7, 8, 3), (*"abcd", "</s>"), (0, 1, 1, 2, -1), ("a", "bank", "b"), ()),
        TokenizedText("bank", (9, 11, 3), ("x", "y", "</s>"), (0, 0, -1), ("bank",), ()),
    ]
    examples, model = [Example(side) for side in sides], encoder("sinusoidal")
    layers = embeddings.collect_word_vectors(model, examples, "bank")
    chosen = set()
    for layer in layers:
        for n, example in enumerate(examples):
            if layer.name == "static":
                rows = model.embedding.tokens if hasattr(model, "embedding") else model.encoder.embedding.tokens
                expected = rows.weight[list(example.source.ids)]
            else:
                tap = {"with position": "encoder.embed"}.get(layer.name, f"encoder.layers.{layer.name[-1]}.out")
                expected = trace_forward(model, example).hidden_states[tap]
            tokens = expected.detach().double().numpy()
            assert layer.sentence_vectors[n] == pytest.approx(tokens)
            positions = (1, 2) if n == 0 else (0, 1)
            assert layer.vectors[n] == pytest.approx((tokens[positions[0]] + tokens[positions[1]]) / 2)
            near = [i for i, row in enumerate(tokens) if np.allclose(row, layer.random_vectors[n])]
            assert set(near) <= ({0, 3} if n == 0 else {0, 1}) and len(near) == 1
            chosen.add((n, near[0]))
    assert len(chosen) == 2  # one random token of each sentence, the same in all layers
    drawn = {
        tuple(embeddings.collect_word_vectors(model, examples, "bank", seed)[0].random_vectors[0]) for seed in range(9)
    }
    assert len(drawn) == 2


def test_the_encoder_of_a_pair_of_stacks_has_words_too():
    model = model_of(config_of({"kind": "sinusoidal"}, layers=3))
    side = TokenizedText("a b", (5, 6), ("a", "b"), (0, 1), ("a", "b"), (False, False))
    layers = embeddings.collect_word_vectors(model, [Example(side, side, side)], "b")
    assert [layer.name for layer in layers] == ["static", "with position", "layer 0", "layer 1", "layer 2"]
    assert all(layer.vectors.dtype == np.float64 for layer in layers)
