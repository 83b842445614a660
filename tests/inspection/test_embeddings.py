"""Properties of static and contextual word vectors."""

import math

import numpy as np
import pytest
import torch

from regard.config import ModelConfig
from regard.errors import DataError
from regard.inspection import embeddings
from regard.inspection.example import Example, TokenizedText
from regard.model.build import build_encoder


def sentence(*words: str) -> Example:
    ids = tuple(5 + sum(map(ord, word)) % 40 for word in words)
    return Example(TokenizedText(" ".join(words), ids, words, tuple(range(len(words))), words, (False,) * len(words)))


SENTENCES = [
    sentence("we", "sat", "on", "the", "bank"),
    sentence("the", "bank", "was", "green"),
    sentence("my", "bank", "lends", "money", "now"),
    sentence("a", "bank", "paid"),
]
SENSES = ["river", "river", "money", "money"]


def encoder(kind: str):
    config = ModelConfig(architecture="encoder", dim=24, heads=3, ffn=13, layers=2, positions={"kind": kind})
    torch.manual_seed(3)
    return build_encoder(config, 47, 0).eval()


def test_a_word_is_itself_in_the_static_layer_whatever_the_sentence():
    layers = embeddings.collect_word_vectors(encoder("sinusoidal"), SENTENCES, "bank")
    assert [layer.name for layer in layers] == ["static", "with position", "layer 0", "layer 1"]
    assert embeddings.mean_cosine(layers[0].vectors) == pytest.approx(1)
    assert embeddings.max_explained_variance(layers[0].vectors) == pytest.approx(1)
    assert embeddings.mean_cosine(layers[1].vectors) < 1 - 1e-6
    contextuality = embeddings.measure_contextuality(layers[0], SENSES)
    assert contextuality.sense_auc == 0.5 and contextuality.nearest_sense_accuracy == pytest.approx(
        1 / 3
    )  # chance, since all vectors are equal


def test_without_positions_a_word_changes_only_by_its_sentence():
    layers = embeddings.collect_word_vectors(encoder("none"), SENTENCES, "bank")
    assert embeddings.mean_cosine(layers[1].vectors) == pytest.approx(1)
    assert embeddings.mean_cosine(layers[2].vectors) < 1 - 1e-6
    twice = embeddings.collect_word_vectors(encoder("none"), [SENTENCES[0], SENTENCES[0]], "bank")
    assert all(embeddings.mean_cosine(layer.vectors) == pytest.approx(1) for layer in twice)


def test_a_rogue_coordinate_is_seen_through():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 50))
    rows[:, 3] += 30
    layer = embeddings.LayerVectors("x", rows[:20], rows[20:40], tuple(rows[i : i + 10] for i in range(0, 200, 10)))
    contextuality = embeddings.measure_contextuality(layer)
    assert contextuality.raw.anisotropy > 0.8  # raw cosines are dominated by one dimension
    assert abs(contextuality.standardized.anisotropy) < 0.05
    assert abs(contextuality.raw.self_similarity) < 0.05 and abs(contextuality.standardized.self_similarity) < 0.05
    assert (
        0.1 < contextuality.standardized.intra_sentence_similarity < 0.5
    )  # ten random rows and their mean: about 1/√10
    assert contextuality.sense_auc is None and contextuality.nearest_sense_accuracy is None


def test_senses_that_lie_apart_are_separated():
    rng = np.random.default_rng(1)
    ends = np.stack([np.eye(7)[0], np.eye(7)[0], np.eye(7)[1], np.eye(7)[1]]) + 0.1 * rng.normal(size=(4, 7))
    assert embeddings.sense_auc(ends, SENSES) == 1 and embeddings.nearest_sense_accuracy(ends, SENSES) == 1
    assert embeddings.sense_auc(ends, ["a", "b", "a", "b"]) < 0.5
    assert math.isnan(embeddings.sense_auc(ends[:1], ["a"]))


def test_the_best_of_many_layers_is_compared_with_the_best_for_shuffled_senses():
    """Noise in 40 layers has a high best AUC; the senses are significant only where they are in the vectors."""
    rng, senses = np.random.default_rng(2), ["a", "b"] * 6
    rows = rng.normal(size=(40, 12, 5))
    noise = [embeddings.LayerVectors("x", layer, layer, (layer,)) for layer in rows]
    assert max(embeddings.measure_contextuality(layer, senses).sense_auc or 0 for layer in noise) > 0.6
    assert embeddings.permutation_p_value(noise, senses) > 0.5
    rows[7, ::2] += 9
    planted = [embeddings.LayerVectors("x", layer, layer, (layer,)) for layer in rows]
    assert embeddings.permutation_p_value(planted, senses) < 0.01
    assert math.isnan(embeddings.permutation_p_value(noise, [str(n) for n in range(12)]))


def test_a_projection_has_two_dimensions_a_layer_and_the_same_axes_for_all():
    layers = embeddings.collect_word_vectors(encoder("sinusoidal"), SENTENCES, "bank")
    projections = embeddings.project_2d([*layers, layers[2]])
    assert [flat.shape for flat in projections] == [(4, 2)] * 5
    assert np.array_equal(projections[2], projections[4]) and not np.allclose(projections[2], projections[3])
    assert np.allclose(projections[0], 0)  # the static vectors are equal


def test_a_word_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(DataError, match=r"'river' is not in the sentence 'we sat on the bank'; its words are: we, sat"):
        embeddings.collect_word_vectors(encoder("none"), SENTENCES, "river")


def test_the_nearest_row_of_a_table_is_found():
    table = torch.eye(5)
    assert embeddings.nearest_neighbors(table, np.array([0.1, 0, 1, 0.5, 0]), 2) == [
        (2, pytest.approx(0.8909, abs=1e-3)),
        (3, pytest.approx(0.4454, abs=1e-3)),
    ]
    assert embeddings.nearest_neighbors(table, np.eye(5)[2], 1, skip=[2])[0][1] == 0
    long = torch.tensor([[1.0, 0.0], [30.0, 40.0], [0.0, 0.0]])  # the length of a row says nothing
    found = embeddings.nearest_neighbors(long, np.array([2.0, 0.0]), 3)
    assert [one.token_id for one in found] == [0, 1, 2]
    assert [one.cosine for one in found] == pytest.approx([1, 0.6, 0])
