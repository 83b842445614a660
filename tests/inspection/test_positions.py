"""Position tables and effects of every position encoding, compared with their formulas."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.inspection.example import Example, tokens_from_ids
from regard.inspection.flow.decompose import toeplitz_r2
from regard.inspection.positions import (
    PositionEffect,
    PositionTable,
    analyze_stack_positions,
    trace_constant_sentence,
)
from regard.inspection.trace import attention_sites, trace_forward
from regard.model.build import build_decoder
from regard.model.layers import PreNorm
from regard.model.positions import alibi_slopes, relative_position_bucket
from tests.inspection.conftest import KINDS, SIZE, config_of, model_of, name_of

P, H, K, D = 13, 3, 8, 24
APART = torch.arange(P)[None] - torch.arange(P)[:, None]
STACKS = ("encoder", "decoder")


def rotated(x: Tensor, positions: dict) -> Tensor:
    """Rotation by complex numbers: (H, P, K)."""
    width = int(K * positions.get("partial_rotary_factor", 1))
    inv_freq = 10_000.0 ** (-torch.arange(0, width, 2).double() / width)
    rotation = torch.polar(torch.ones(P, width // 2).double(), torch.arange(P)[:, None] * inv_freq)
    first, second = torch.arange(0, width, 2), torch.arange(1, width, 2)
    if positions.get("rotary_layout") != "interleaved":
        first, second = torch.arange(width // 2), torch.arange(width // 2, width)
    out, both = x.clone(), torch.complex(x[..., first], x[..., second]) * rotation
    out[..., first], out[..., second] = both.real, both.imag
    return out


def bias(positions: dict, scheme, q: Tensor, causal: bool) -> Tensor | float:
    """The bias of each position encoding by its formula: broadcastable to (H, P, P)."""
    kind = positions["kind"]
    if kind == "relative":
        return torch.einsum("hik,ijk->hij", q, scheme.keys[APART.clamp(-3, 3) + 3]) / math.sqrt(K)
    if kind == "bias":
        return scheme.table[:, APART + 63]
    if kind == "t5":
        return scheme.table[relative_position_bucket(APART, 8, 20, not causal)].permute(2, 0, 1)
    if kind == "alibi" and positions.get("sides") == "two-sided" and not causal:
        slopes = torch.tensor([alibi_slopes(2)[0], alibi_slopes(2)[1], alibi_slopes(2)[0]])[:, None, None]
        masked = torch.stack([APART > 0, APART > 0, APART < 0])
        return (-slopes * APART.abs()).masked_fill(masked, torch.nan)
    if kind == "alibi":
        return -torch.tensor(alibi_slopes(H))[:, None, None] * APART.abs()
    return 0.0


def by_hand(model, stack: str, positions: dict) -> np.ndarray:
    """Scores of the first layer for the mean embedding at every position, less the mean of each row."""
    embedding, layer = getattr(model, stack).embedding, getattr(model, stack).layers[0]
    word = (embedding.tokens.weight.mean(dim=0) * math.sqrt(D)).expand(P, -1)
    kind = positions["kind"]
    if kind in ("sinusoidal", "learned"):
        word = word + table_by_formula(positions, embedding.positions)
    if kind == "concatenated":
        word = torch.cat((word, table_by_formula(positions, embedding.positions.encoding)), dim=1)
    x = layer.self_attn_residual.norm(word) if isinstance(layer.self_attn_residual, PreNorm) else word
    q, k = (
        linear(x).unflatten(1, (H, K)).transpose(0, 1) for linear in (layer.self_attn.q_proj, layer.self_attn.k_proj)
    )
    if kind == "rotary":
        q, k = rotated(q, positions), rotated(k, positions)
    scores = q @ k.mT / math.sqrt(K) + bias(positions, layer.self_attn.positions, q, stack == "decoder")
    if stack == "decoder":
        scores = scores.masked_fill(APART > 0, torch.nan)
    return (scores - scores.nanmean(dim=-1, keepdim=True)).numpy()


def table_by_formula(positions: dict, scheme) -> Tensor:
    """Position vectors, by their formula or from their table."""
    if positions["kind"] == "learned" or positions.get("table") == "learned":
        return scheme.table[:P]
    width = positions.get("width", D)
    angle = torch.arange(P).double()[:, None] * 10_000.0 ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack((angle.sin(), angle.cos()), dim=2).flatten(1)


@torch.no_grad()
@pytest.mark.parametrize("stack", STACKS)
def test_if_all_words_are_one_scores_are_what_the_scheme_says(positions, norm, stack):
    model = model_of(config_of(positions, norm=norm)).double()
    effect = analyze_stack_positions(model, stack, P).effects[0]
    np.testing.assert_allclose(effect.scores, by_hand(model, stack, positions), atol=1e-5, equal_nan=True)
    assert effect.weights.sum(axis=2) == pytest.approx(1) and not effect.weights[np.isnan(effect.scores)].any()


@torch.no_grad()
@pytest.mark.parametrize("stack", STACKS)
def test_every_scheme_shows_what_it_holds(positions, stack):
    model, kind = model_of(config_of(positions)).double(), positions["kind"]
    stack_positions = analyze_stack_positions(model, stack, P)
    attention_positions = getattr(model, stack).layers[0].self_attn.positions
    assert stack_positions.scheme == kind and len(stack_positions.effects) == 2
    if kind == "none":
        assert stack_positions.tables == []
        return
    table = stack_positions.tables[0]
    if kind in ("sinusoidal", "learned", "concatenated"):
        embedding_positions = getattr(model, stack).embedding.positions
        expected = table_by_formula(positions, getattr(embedding_positions, "encoding", embedding_positions))
    elif kind == "rotary":
        angle = torch.arange(P).double()[:, None] * attention_positions.inv_freq
        expected = torch.cat((angle.cos(), angle.sin()), dim=1)
    elif kind == "relative":
        expected = attention_positions.keys[:4] if stack == "decoder" else attention_positions.keys
        assert len(stack_positions.tables) == 2 * (1 + positions.get("values", False))  # two layers, keys and values
    else:
        biases = bias(positions, attention_positions, torch.zeros(H, P, K), stack == "decoder")
        left, right = biases[:, -1, :].T, biases[:, 0, 1:].T  # the last query attends back, the first one ahead
        expected = left if stack == "decoder" else torch.cat((left, right))
    np.testing.assert_allclose(table.values, expected.numpy(), atol=1e-6, equal_nan=True)
    assert len(table.row_labels) == len(table.values) and (table.row_axis == "distance") == (min(table.row_labels) < 0)
    assert np.isfinite(table.gram).all() and table.singular_values == pytest.approx(
        sorted(table.singular_values, reverse=True)
    )


@pytest.mark.parametrize(("kind", "width"), [("sinusoidal", D), ("rotary", K)])
def test_the_gram_matrix_of_waves_knows_distances_alone(kind, width):
    table = analyze_stack_positions(model_of(config_of({"kind": kind})), "encoder", 17).tables[0]
    inv_freq = 10_000.0 ** (-np.arange(0, width, 2) / width)
    distances = np.arange(17)[None] - np.arange(17)[:, None]
    assert table.gram == pytest.approx(np.cos(distances[..., None] * inv_freq).sum(axis=2), abs=1e-4)
    assert table.distance_share == pytest.approx(1)


def test_without_positions_no_place_is_like_another_and_an_encoder_looks_evenly():
    model = model_of(config_of({"kind": "none"}))
    for stack in STACKS:
        for effect in analyze_stack_positions(model, stack, P).effects:
            assert np.nanmax(np.abs(effect.scores)) < 1e-4 and effect.preferred_offset(0) == (
                0,
                pytest.approx(1, abs=1e-4),
            )


@torch.no_grad()
def test_the_favourite_distance_is_the_one_that_was_planted():
    model = model_of(config_of({"kind": "bias", "length": 64}))
    model.encoder.layers[0].self_attn.positions.table[1, 63 + 2] = 9  # head 1 attends two positions ahead
    model.decoder.layers[1].self_attn.positions.table[2, 63 - 3] = 9
    offset, ratio = analyze_stack_positions(model, "encoder", P).effects[0].preferred_offset(1)
    assert offset == 2 and ratio > 11 - 1
    assert analyze_stack_positions(model, "decoder", P).effects[1].preferred_offset(2)[0] == -3


def test_places_end_where_a_table_ends_and_pruned_heads_are_not_shown():
    assert analyze_stack_positions(model_of(config_of({"kind": "learned", "length": 7})), "decoder", P).tables[
        0
    ].values.shape == (7, D)
    for kind in ({"kind": "bias", "length": 64}, {"kind": "alibi"}, {"kind": "rotary"}):
        model = model_of(config_of(kind, pruned=("encoder.0.self.1",)))
        stack_positions = analyze_stack_positions(model, "encoder", P)
        assert stack_positions.effects[0].head_ids == (0, 2) and len(stack_positions.effects[0].scores) == 2
        assert stack_positions.tables[0].values.shape[1] == (2 if kind["kind"] != "rotary" else K)


def test_the_share_of_distance_is_each_heads_own_where_heads_may_look_elsewhere():
    model = model_of(config_of({"kind": "alibi", "sides": "two-sided"}))
    attn = trace_constant_sentence(model, P).attentions["encoder.0.self"]
    assert toeplitz_r2(attn) == pytest.approx(1)


@pytest.mark.parametrize("positions", KINDS[:3], ids=name_of)
def test_a_language_model_alone_has_places_too(positions):
    torch.manual_seed(5)
    model = build_decoder(config_of(positions), SIZE, 0).eval()
    assert [effect.name for effect in analyze_stack_positions(model, "decoder", P).effects] == [
        "decoder.0.self",
        "decoder.1.self",
    ]
    side = tokens_from_ids([5, 9, 11])
    attentions = trace_forward(model, Example(side, side, side)).attentions
    assert list(attentions) == [site.name for site in attention_sites(model)] and attentions[
        "decoder.1.self"
    ].weights.shape == (
        H,
        3,
        3,
    )


def test_the_share_of_distance_is_what_means_of_diagonals_explain():
    values = np.random.default_rng(3).normal(size=(7, 3))
    table = PositionTable("x", "position", "dimension", tuple(range(7)), values)
    gram = [[float(a @ b) for b in values] for a in values]
    assert table.gram == pytest.approx(np.array(gram))
    apart: dict[int, list[float]] = {}
    for i, row in enumerate(gram):
        for j, value in enumerate(row):
            apart.setdefault(j - i, []).append(value)
    mean = sum(map(sum, gram)) / 49
    total = sum((value - mean) ** 2 for row in gram for value in row)
    explained = sum(len(group) * (sum(group) / len(group) - mean) ** 2 for group in apart.values())
    assert table.distance_share == pytest.approx(explained / total) and 0 < table.distance_share < 0.9
    assert table.singular_values**2 == pytest.approx(np.linalg.eigvalsh(values.T @ values)[::-1])
    for scale in (1e-3, 1e3):  # a share has no unit
        scaled = PositionTable("x", "position", "dimension", tuple(range(7)), scale * values)
        assert scaled.distance_share == pytest.approx(table.distance_share)
    assert math.isnan(PositionTable("x", "position", "dimension", (0, 1, 2), np.ones((3, 2))).distance_share)
    masked = PositionTable("x", "distance", "head", (0, 1), np.array([[1.0, math.nan], [2.0, 3.0]]))
    assert masked.gram.tolist() == [[1, 2], [2, 13]] and masked.singular_values == pytest.approx(
        np.linalg.svd([[1, 0], [2, 3]], compute_uv=False)
    )


def test_the_preferred_distance_has_the_largest_mean_and_the_nearest_of_equals_wins():
    def effect(weights: np.ndarray, masked: np.ndarray | None = None) -> PositionEffect:
        scores = np.where(np.zeros_like(weights, bool) if masked is None else masked, math.nan, 0.0)
        return PositionEffect("x", (0,), scores[None], weights[None], np.ones(1))

    n = 7
    for step in range(-(n // 2), n // 2 + 1):
        weights = np.full((n, n), 0.5 / n) + 0.5 * np.eye(n, k=step)
        assert effect(weights).preferred_offset(0) == (step, pytest.approx(0.5 + 0.5 * n))
    far = np.full((n, n), 0.5 / n) + 0.5 * np.eye(n, k=n // 2 + 1)  # fewer than half of the queries have it
    assert effect(far).preferred_offset(0) == (0, pytest.approx(0.5))
    twice = np.full((n, n), 0.1 / n) + 0.4 * np.eye(n, k=1) + 0.4 * np.eye(n, k=-3)
    assert effect(twice).preferred_offset(0).offset == 1
    causal = np.tril(np.ones((n, n)))
    even = causal / causal.sum(axis=1, keepdims=True)  # of uniform attention no distance is preferred
    assert effect(even, causal == 0).preferred_offset(0) == (0, pytest.approx(1))


def test_tables_bear_names_axes_and_the_distances_of_their_rows():
    def tables(kind: dict, stack: str, count: int = P) -> list[tuple]:
        found = analyze_stack_positions(model_of(config_of(kind)), stack, count)
        assert found.stack == stack and [effect.name for effect in found.effects] == [
            f"{stack}.{n}.self" for n in (0, 1)
        ]
        assert all(effect.weights.shape == (H, count, count) for effect in found.effects)
        return [(one.name, one.row_axis, one.column_axis, one.row_labels) for one in found.tables]

    assert tables({"kind": "learned", "length": 64}, "decoder", 5) == [
        ("decoder.embed", "position", "dimension", tuple(range(5)))
    ]
    assert tables({"kind": "rotary"}, "encoder", 5) == [("encoder.0.self", "position", "frequency", tuple(range(5)))]
    shaw = {"kind": "relative", "max_relative": 3, "values": True}
    for stack, last in (("encoder", 3), ("decoder", 0)):
        assert tables(shaw, stack) == [
            (f"{stack}.{n}.self", "distance", f"dimension of {name}", tuple(range(-3, last + 1)))
            for n in (0, 1)
            for name in ("keys", "values")
        ]
    assert tables(shaw, "encoder", 3)[0][3] == (-2, -1, 0, 1, 2)  # no distance that three tokens do not have
    assert tables({"kind": "alibi"}, "encoder", 5) == [("encoder.0.self", "distance", "head", tuple(range(-4, 5)))]
    assert tables({"kind": "t5", "buckets": 8, "max_distance": 20}, "decoder", 5)[0] == (
        "decoder.0.self",
        "distance",
        "head",
        (-4, -3, -2, -1, 0),
    )


@pytest.mark.parametrize("pad", [0, 1])
def test_identical_tokens_are_no_padding_and_their_mean_is_that_of_all_embeddings(pad):
    model = model_of(config_of({"kind": "none"}))
    model.pad = pad
    trace = trace_constant_sentence(model, 5)
    assert trace.example.source.ids == (1 - pad,) * 5
    assert trace.example.decoder_input is trace.example.target is trace.example.source
    for stack in STACKS:
        rows = trace.hidden_states[f"{stack}.embed"]
        table = getattr(model, stack).embedding.tokens.weight.detach()
        torch.testing.assert_close(rows, (sum(table) / len(table) * math.sqrt(D)).expand(5, -1))


def test_positions_are_as_many_as_every_table_of_the_model_has():
    for stack in STACKS:
        found = analyze_stack_positions(model_of(config_of({"kind": "bias", "length": 7})), stack, P)
        assert found.effects[0].scores.shape == (H, 7, 7) and found.effects[0].distance_share.shape == (H,)
        assert len(found.tables[0].values) == (13 if stack == "encoder" else 7)
