"""What each scheme of positions is, and what sets it apart from the others."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.errors import ModelError
from regard.model.attention import Attention, attend, score
from regard.model.layers import EncoderLayer, PreNorm
from regard.model.positions import (
    ALiBi,
    Concatenated,
    Learned,
    LearnedBias,
    Positions,
    Relative,
    Rotary,
    Sinusoidal,
    T5Bias,
    alibi_slopes,
    relative_position_bucket,
    relative_positions,
    sinusoid,
)
from regard.model.variants import hard_attention
from tests.model.conftest import ABSOLUTE, REGISTERED, SCHEMES, make, positions

AT = torch.arange(7)[None]


def states(model, source: Tensor, at: Tensor) -> Tensor:
    return model.encoder(source, torch.ones(1, 1, 1, source.shape[1], dtype=torch.bool), at)


@pytest.mark.usefixtures("example_plugin")
@pytest.mark.parametrize("name", [*SCHEMES, *REGISTERED])
def test_absolute_schemes_feel_a_shift_and_relative_ones_do_not(name: str, ids):
    model = make(positions=positions(name))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    source = ids(2, 7)
    here, there = states(model, source, AT), states(model, source, AT + 5)
    if name in ABSOLUTE:
        assert not torch.allclose(here, there)
    else:
        assert_close(here, there, rtol=0, atol=1e-10)


def test_a_causal_decoder_knows_the_order_without_positions(ids):
    model, source, target = make(positions={"kind": "none"}), ids(2, 7), ids(2, 5)
    order = torch.tensor([2, 0, 1, 3, 4])
    one, two = model(source, target), model(source, target[:, order])
    assert not torch.allclose(one[:, 4], two[:, 4])  # the same words before it, in another order


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_products_know_only_the_difference_and_lengths_stay(interleaved: bool):
    rotary = Rotary(8, interleaved=interleaved)
    q, k = torch.randn(2, 1, 1, 1, 8, dtype=torch.double)

    def product(i: int, j: int) -> Tensor:
        return (rotary.rotate(q, torch.tensor([[i]])) * rotary.rotate(k, torch.tensor([[j]]))).sum()

    assert_close(product(11, 7), product(504, 500))
    assert not torch.allclose(product(11, 7), product(7, 11))
    turned = rotary.rotate(q, torch.tensor([[13]]))
    assert_close(turned.norm(), q.norm())
    assert not torch.allclose(turned, q)
    assert torch.equal(rotary.rotate(q, torch.tensor([[0]])), q)


def test_the_two_layouts_of_rotary_are_a_permutation_apart():
    q, at = torch.randn(2, 3, 7, 8, dtype=torch.double), AT
    order = torch.arange(8).view(4, 2).T.flatten()  # 0 2 4 6 1 3 5 7
    halves = Rotary(8).rotate(q[..., order], at)
    assert_close(Rotary(8, interleaved=True).rotate(q, at)[..., order], halves)


def test_rotary_of_a_part_leaves_the_rest_alone():
    q = torch.randn(2, 3, 7, 11, dtype=torch.double)
    turned = Rotary(4).rotate(q, AT)
    assert torch.equal(turned[..., 4:], q[..., 4:])
    assert_close(turned[..., :4], Rotary(4).rotate(q[..., :4], AT))


@pytest.mark.parametrize("values", [False, True])
def test_shaws_attention_is_the_double_loop_of_the_paper(values: bool):
    relative = Relative(5, max_relative=2, values=values).double()
    q, k, v = torch.randn(3, 2, 3, 7, 5, dtype=torch.double)
    keep = torch.ones(7, 7, dtype=torch.bool).tril()
    out, weights = attend(q, k, v, keep, relative.bias(q, AT, AT))
    if values:
        out = out + relative.value_bias(weights, AT, AT)
    for b in range(2):
        for h in range(3):
            for i in range(7):
                distance = [max(-2, min(2, j - i)) + 2 for j in range(i + 1)]
                e = torch.stack([q[b, h, i] @ (k[b, h, j] + relative.keys[d]) for j, d in enumerate(distance)])
                a = (e / math.sqrt(5)).softmax(0)
                z = sum(
                    w * (v[b, h, j] + (relative.values[d] if values else 0))
                    for j, (w, d) in enumerate(zip(a, distance, strict=True))
                )
                assert_close(out[b, h, i], z)


def test_a_clip_beyond_the_sentence_clips_nothing():
    q = torch.randn(2, 3, 7, 5, dtype=torch.double)
    wide = Relative(5, max_relative=11).double()
    rows = wide.keys[relative_positions(AT, AT)[0] + 11]  # (Tq, Tk, K)
    assert_close(wide.bias(q, AT, AT), torch.einsum("bhik,ijk->bhij", q, rows) / math.sqrt(5))


def test_buckets_are_those_of_the_paper():
    def row(i: int) -> list[int]:
        return relative_position_bucket(torch.arange(8) - i, 8, 16, bidirectional=True).tolist()

    assert row(0) == [0, 5, 6, 6, 6, 6, 7, 7]
    assert row(7) == [3, 3, 2, 2, 2, 2, 1, 0]
    far = torch.tensor([1, 7, 8, 12, 16, 23, 32, 46, 64, 91, 128])
    assert relative_position_bucket(far, 32, 128, bidirectional=True).tolist() == [
        17,
        23,
        24,
        25,
        26,
        27,
        28,
        29,
        30,
        31,
        31,
    ]
    assert relative_position_bucket(far, 32, 128, bidirectional=False).tolist() == [0] * 11
    assert relative_position_bucket(-far, 32, 128, bidirectional=False)[:2].tolist() == [1, 7]


def test_one_t5_table_serves_a_stack():
    model = make(positions=positions("t5"))
    tables = [layer.self_attn.positions.table for layer in model.encoder.layers]
    assert all(table is tables[0] for table in tables)
    assert model.decoder.layers[0].self_attn.positions.table is not tables[0]
    assert (
        model.encoder.layers[0].self_attn.positions.bidirectional
        and not model.decoder.layers[0].self_attn.positions.bidirectional
    )


def test_slopes_are_those_of_the_paper():
    assert alibi_slopes(8) == [2.0**-h for h in range(1, 9)]
    assert alibi_slopes(4) == [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    assert alibi_slopes(6) == [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]


def test_alibi_falls_with_the_distance_and_two_sides_tell_left_from_right():
    q = torch.zeros(1, 4, 7, 5)
    even = ALiBi(4).bias(q, AT, AT)
    assert_close(even[0, 1, 2], -(1 / 16) * (torch.arange(7) - 2.0).abs())
    assert torch.equal(even, even.mT)
    sides = ALiBi(4, two_sided=True).bias(q, AT, AT)
    weights = sides.softmax(-1)
    assert (weights[:, :2].triu(1) == 0).all() and (weights[:, 2:].tril(-1) == 0).all()
    assert_close(sides[0, 0].tril(), ALiBi(2).bias(q[:, :2], AT, AT)[0, 0].tril())


def test_words_and_places_beside_each_other_do_not_mix_and_added_ones_do():
    words, place = torch.randn(1, 7, 6, dtype=torch.double), Sinusoidal(4)
    beside = Concatenated(4, place).embed(words, AT)
    p = place.vectors(AT, words)
    assert_close(beside @ beside.mT, words @ words.mT + p @ p.mT)
    added = Sinusoidal(6).embed(words, AT)
    q = sinusoid(AT, 6)
    assert not torch.allclose(added @ added.mT, words @ words.mT + q @ q.mT)


def test_a_bias_of_the_places_product_is_concatenation():
    words = torch.randn(1, 1, 7, 6, dtype=torch.double)
    p = sinusoid(AT, 4)[:, None]  # (1, 1, T, 4)
    beside = torch.cat((words, p), dim=-1)
    bias = LearnedBias(1, 7).double()
    with torch.no_grad():
        for offset in range(-6, 7):  # the product of sinusoids depends on the distance alone
            i = max(0, -offset)
            bias.table[0, offset + 6] = (p[0, 0, i] @ p[0, 0, i + offset]) / math.sqrt(10)
    alone = torch.cat((words, torch.zeros_like(p)), dim=-1)
    assert_close(score(alone, alone, bias.bias(alone, AT, AT)), score(beside, beside))


def test_tables_refuse_what_they_have_not_learnt():
    with pytest.raises(ModelError, match=r"a sentence of 7 tokens is too long: the model has positions for 6 tokens"):
        Learned(5, 6).embed(torch.zeros(1, 7, 5), AT)
    with pytest.raises(ModelError, match=r"model.positions.length=6"):
        LearnedBias(2, 6).bias(torch.zeros(1, 2, 7, 5), AT, AT)


@pytest.mark.parametrize("name", ABSOLUTE)
def test_random_offsets_move_whole_sentences_in_training_only(name: str, ids):
    model = make(positions=positions(name).model_copy(update={"offset": 11}), dropout=0.0)
    source, target = ids(5, 7), ids(5, 3)
    still = model(source, target)
    assert torch.equal(model(source, target), still)
    model.train()
    scheme = model.encoder.embedding.positions
    moved = scheme.shift_positions(AT, 500)
    assert torch.equal(moved - moved[:, :1], AT.expand(500, -1)) and set(moved[:, 0].tolist()) == set(range(12))
    assert not torch.allclose(model(source, target), still)


def test_t5_and_bias_and_alibi_cost_a_decoder_nothing_new_with_a_cache():
    """A query far along a cache gets the row that the whole table has for it."""
    for scheme in (T5Bias(3, 8, 11, bidirectional=False), LearnedBias(3, 29), ALiBi(3), Relative(5, 3)):
        scheme.double()
        q = torch.randn(1, 3, 7, 5, dtype=torch.double)
        whole = scheme.bias(q, AT, AT)
        assert_close(scheme.bias(q[:, :, 4:5], AT[:, 4:5], AT), whole[:, :, 4:5])


def test_hard_attention_copies_one_value_and_the_first_of_equals():
    scores = torch.tensor([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0], [5.0, 1.0, 1.0, 1.0]])
    assert hard_attention(scores).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    keep = torch.tensor([[True, False, True, True], [False, False, True, True], [False, False, False, False]])
    assert hard_attention(scores, keep).tolist() == [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def planted(layer: int, heads: int, length: int) -> EncoderLayer:
    """A layer whose head h looks (heads + 1)^layer · (h + 1) places to the left, and whose every part is at work."""
    dim = 4 * heads
    places = LearnedBias(heads, length)
    with torch.no_grad():
        for h in range(heads):
            places.table[h, length - 1 - (heads + 1) ** layer * (h + 1)] = 100.0
    attention = Attention(dim, heads, places, attend=partial(attend, normalizer=hard_attention))
    nn.init.zeros_(attention.q_proj.weight)
    nn.init.zeros_(attention.q_proj.bias)
    residuals = (PreNorm(nn.Identity(), 0.0), PreNorm(nn.Identity(), 0.0))
    return EncoderLayer(attention, nn.Linear(dim, dim), residuals).double()


@pytest.mark.parametrize(("heads", "depth"), [(1, 1), (1, 4), (2, 3), (3, 2), (4, 2)])
def test_the_receptive_field_of_hard_attention_grows_by_heads_and_layers(heads: int, depth: int):
    """(k + 1)^n tokens reach the last one through n layers of k heads: measured by disturbing each in turn."""
    torch.manual_seed(1)
    field = (heads + 1) ** depth
    length = field + 11
    layers = [planted(layer, heads, length) for layer in range(depth)]
    x, at = torch.randn(1, length, 4 * heads, dtype=torch.double), torch.arange(length)[None]
    keep = torch.ones(1, 1, 1, length, dtype=torch.bool)

    def last(x: Tensor) -> Tensor:
        for layer in layers:
            x = layer(x, keep, at)
        return x[0, -1]

    reached = []
    for j in range(length):
        other = x.clone()
        other[0, j] += 1.0
        reached.append(not torch.allclose(last(other), last(x), rtol=1e-9, atol=1e-9))
    assert sum(reached) == field and all(reached[-field:])


def test_no_positions_open_no_door():
    none, x = Positions(), torch.randn(1, 7, 5)
    assert (
        none.embed(x, AT) is x and none.rotate(x, AT) is x and none.bias(x, AT, AT) is None and not none.adds_to_values
    )


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_belongs_to_a_layer_or_to_its_whole_stack(name: str):
    """Tables of vectors and of biases are learned by every layer; what a stack has once, all of its layers have."""
    model = make(positions=positions(name), encoder_layers=3)
    for stack in (model.encoder, model.decoder):
        schemes = [layer.self_attn.positions for layer in stack.layers]
        shared = name.partition("-")[0] in ("t5", "alibi", "rotary")
        assert len(set(map(id, schemes))) == (1 if shared else 3)
        assert type(stack.embedding.positions) is Positions or name in ABSOLUTE


def test_what_a_scheme_is_unless_anything_is_asked_for():
    assert_close(Rotary(6).inv_freq, torch.tensor([1e4 ** (-2 * t / 6) for t in range(3)], dtype=torch.double))
    q = torch.randn(1, 2, 7, 6, dtype=torch.double)
    assert torch.equal(Rotary(6).rotate(q, AT), Rotary(6, 10_000.0, interleaved=False).rotate(q, AT))
    x = torch.zeros(1, 7, 6, dtype=torch.double)
    for scheme in (Sinusoidal(6), Learned(6, 11), Concatenated(6, Sinusoidal(6))):
        assert scheme.train().shift_positions(AT, 3) is AT, "no sentence starts late"
    assert_close(Sinusoidal(6).embed(x, AT)[0], sinusoid(AT[0], 6, 10_000.0, halves=False))
    assert Relative(5, 3).values is None and not Relative(5, 3).adds_to_values and not ALiBi(3).two_sided


def test_positions_are_looked_up_where_the_table_has_them_and_computed_elsewhere():
    scheme, like = Sinusoidal(6, precomputed_length=11), torch.zeros((), dtype=torch.double)
    inside = torch.arange(11)[None]
    assert torch.equal(scheme.vectors(inside, like), scheme.table.double()[None])
    for outside in (inside + 1, inside - 1, inside + 1000):
        assert torch.equal(scheme.vectors(outside, like), sinusoid(outside, 6))
    assert scheme.vectors(inside, torch.zeros(())).dtype == scheme.vectors(inside + 1, torch.zeros(())).dtype


@pytest.mark.parametrize(("name", "kind"), [("concatenated", Sinusoidal), ("concatenated-learned", Learned)])
def test_what_is_concatenated_is_the_table_that_was_asked_for(name: str, kind: type):
    scheme = make(positions=positions(name)).encoder.embedding.positions
    assert type(scheme) is Concatenated and type(scheme.encoding) is kind
    assert (scheme.width, scheme.limit) == (5, scheme.encoding.limit)
