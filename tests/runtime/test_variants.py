"""The faster paths keep to the plain one for pruned models, gated layers, guided heads and dropout."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.config import Head
from regard.data.tokenizers.tokenizer import PAD
from regard.model.attention import Attention, KeyValues
from regard.model.taps import record
from regard.runtime import attention as runtime_attention
from regard.runtime import linears as runtime_linears
from regard.runtime import source_cache
from regard.runtime.attention import (
    MIN_UNFUSED_ROWS,
    AttentionMask,
    attend_heads,
    computes_softmax,
    decode_heads,
    use_fused_attention,
)
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.kv_cache import COLUMN_SLACK, KVCache
from regard.runtime.linears import LiveLinears, PreparedLinears
from regard.runtime.padding_free import PaddingFreeForward
from tests.model.conftest import make, padded_rows, positions

PRUNED = ("encoder.1.self.0", "decoder.0.self.1", "decoder.0.self.2", "decoder.1.cross.0", "decoder.1.cross.3")
SETTINGS = {
    "swiglu": {"activation": "swiglu"},
    "swiglu-plain": {"activation": "swiglu", "bias": False},
    "gelu": {"activation": "gelu", "norm": "post", "norm_kind": "rms"},
    "qk-norm": {"qk_norm": True, "dim": 24, "heads": 3},
    "qk-norm-rotary": {"qk_norm": True, "dim": 24, "heads": 3, "positions": positions("rotary"), "norm_kind": "rms"},
    "qk-norm-pruned": {"qk_norm": True, "dim": 24, "heads": 4, "pruned": PRUNED},
    "plain": {"bias": False, "output_bias": True},
    "pruned": {"dim": 24, "heads": 4, "pruned": PRUNED},
    "pruned-bias": {"dim": 24, "heads": 4, "pruned": PRUNED, "positions": positions("bias")},
    "pruned-alibi": {"dim": 24, "heads": 4, "pruned": PRUNED, "positions": positions("alibi-two-sided")},
}
settings = pytest.mark.parametrize("name", SETTINGS)


def wake(name: str):
    model = make(**SETTINGS[name])
    for parameter in model.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


@settings
def test_steps_equal_the_whole_for_every_kind_of_layer(name: str, ids):
    model, source, target = wake(name), padded_rows([3, 11, 7]), ids(3, 5)
    whole = model.output(model(source, target))
    with torch.no_grad():
        batch = IncrementalDecoder(model).new_batch()
        batch.admit(source)
        for t in range(5):
            assert_close(batch.step(target[:, t]), whole[:, t])


@settings
def test_the_padding_free_path_equals_the_plain_one_and_so_do_its_scores(name: str):
    model, source, target = wake(name), padded_rows([3, 11, 7, 1]), padded_rows([5, 2, 13, 1])
    tap = "decoder.layers.1.cross_attn.scores"
    with record(model, tap) as seen:
        plain = model(source, target)[target != PAD]
    number = model.decoder.layers[1].cross_attn.head_ids[0]
    for path in (PaddingFreeForward(model), PaddingFreeForward(model, PreparedLinears())):
        assert_close(path(source, target), plain)
        states, (scores,) = path.forward_with_scores(source, target, [Head("decoder", 1, "cross", number)])
        assert_close(states, plain)
        real = (target != PAD)[:, :, None] & (source != PAD)[:, None, :]
        assert_close(scores[real], seen[tap][:, 0][real])
    (plain * torch.linspace(-1, 1, plain.numel()).double().view_as(plain)).sum().backward()
    expected = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    states = PaddingFreeForward(model)(source, target)
    (states * torch.linspace(-1, 1, plain.numel()).double().view_as(plain)).sum().backward()
    for parameter, gradient in expected.items():
        assert_close(dict(model.named_parameters())[parameter].grad, gradient)


@pytest.mark.parametrize("where", ["dropout", "attention_dropout", "activation_dropout", "word_dropout"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_gradient_is_that_of_the_function_with_the_same_dropout(where: str, activation: str):
    """By finite differences: with one seed, dropout hides the same in every call."""
    model = make(**{"dropout": 0.0, where: 0.3, "activation": activation}).train()
    path, rows = PaddingFreeForward(model), (padded_rows([3, 7]), padded_rows([5, 2]))
    torch.manual_seed(3)
    parameters = list(model.parameters())
    directions = [torch.randn_like(p) for p in parameters]
    pull = torch.randn(7, 22, dtype=torch.double)

    def value(step: float) -> torch.Tensor:
        with torch.no_grad():
            for p, d in zip(parameters, directions, strict=True):
                p += step * d
        torch.manual_seed(11)
        return (path(*rows) * pull).sum()

    gradients = torch.autograd.grad(value(0.0), parameters, allow_unused=True)
    slope = sum((g * d).sum() for g, d in zip(gradients, directions, strict=True) if g is not None)
    h = 1e-6
    assert_close(slope, ((value(h) - value(-2 * h)) / (2 * h)).detach(), rtol=1e-4, atol=1e-4)


def test_prepared_linears_are_the_weights_of_the_first_call_and_live_ones_the_present():
    layer, other, x = torch.nn.Linear(5, 7), torch.nn.Linear(5, 3), torch.randn(11, 5)
    prepared, live = PreparedLinears(), LiveLinears()
    before = torch.cat((layer(x), other(x)), dim=1)
    for linears in (prepared, live):
        assert_close(linears(x, (layer, other)), before)
        assert_close(linears(x, (layer,)), layer(x))
    assert prepared.linear(layer, other) is prepared.linear(layer, other)
    assert prepared.linear(layer) is not prepared.linear(other)
    layer.weight = torch.nn.Parameter(layer.weight.detach() + 1)
    assert_close(prepared(x, (layer, other)), before)
    assert not torch.allclose(live(x, (layer, other)), before)


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_feed_forward_by_any_linears_is_the_module(activation: str):
    module = make(activation=activation).encoder.layers[0].feed_forward
    for parameter in module.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    x = torch.randn(7, 22, dtype=torch.double)
    for linears in (LiveLinears(), PreparedLinears()):
        assert_close(linears.feed_forward(module, x.clone()), module(x))
    odd = torch.nn.Linear(22, 22).double()  # what neither of them knows
    for linears in (LiveLinears(), PreparedLinears()):
        assert_close(linears.feed_forward(odd, x), odd(x))


def test_live_feed_forward_keeps_its_dropout_in_training():
    module = make(activation_dropout=0.5).encoder.layers[0].feed_forward.train()
    x = torch.randn(7, 22, dtype=torch.double)
    torch.manual_seed(3)
    first = LiveLinears().feed_forward(module, x)
    torch.manual_seed(3)
    assert_close(first, module(x))
    assert not torch.allclose(LiveLinears().feed_forward(module, x), first)


@pytest.mark.parametrize(
    ("activation", "training", "dropout", "in_place"),
    [
        ("relu", True, 0.0, True),
        ("relu", False, 0.5, True),
        ("relu", False, 0.0, True),
        ("relu", True, 0.5, False),
        ("gelu", False, 0.0, False),
    ],
)
def test_relu_without_dropout_is_computed_in_place(activation, training, dropout, in_place, monkeypatch):
    module = make(activation=activation, activation_dropout=dropout).encoder.layers[0].feed_forward.train(training)
    calls = []
    monkeypatch.setattr(runtime_linears, "feed_forward_relu", lambda x, *weights: calls.append(len(weights)))
    LiveLinears().feed_forward(module, torch.randn(7, 22, dtype=torch.double))
    assert calls == ([4] if in_place else [])


def attention(**options: object) -> Attention:
    return Attention(22, 2, options.pop("positions", make().encoder.layers[0].self_attn.positions), **options).double()


@pytest.mark.parametrize("save_weights", [False, True])
def test_heads_by_every_kernel_are_those_of_the_equation(save_weights: bool):
    a = attention(dropout=0.5).eval()
    q, k, v = (torch.randn(9, 2, t, 11, dtype=torch.double) for t in (5, 7, 7))
    at, kv = torch.arange(5)[None], KeyValues(k, v, torch.arange(7)[None])
    keep = torch.rand(9, 1, 5, 7) > 0.4
    keep[..., 0] = True
    for mask in (AttentionMask(), AttentionMask.of(keep, q)):
        expected = a.attend_heads(q, kv, mask.attn_mask, at)
        assert_close(attend_heads(a, q, kv, mask, at, save_weights), expected)
        for rows in (7, 8, 9):
            part = AttentionMask(*(m if m is None else m[:rows] for m in mask))
            few = decode_heads(a, q[:rows], KeyValues(k[:rows], v[:rows], kv.position_ids), part, at)
            assert_close(few, expected[:rows])
    a.train()
    assert not torch.allclose(attend_heads(a, q, kv, mask, at, save_weights), expected)


@pytest.mark.parametrize("rows", [1, MIN_UNFUSED_ROWS - 1, MIN_UNFUSED_ROWS, MIN_UNFUSED_ROWS + 1])
def test_few_rows_are_decoded_by_the_fused_kernel_and_many_by_plain_products(rows: int, monkeypatch):
    asked = []
    monkeypatch.setattr(runtime_attention, "attend_heads", lambda *given: asked.append(given[-1]))
    q = torch.zeros(rows, 2, 1, 11)
    decode_heads(attention(), q, KeyValues(q, q, torch.zeros(1, 1)), AttentionMask(), torch.zeros(1, 1))
    assert asked == [rows >= MIN_UNFUSED_ROWS]


def test_sources_of_like_length_are_attended_to_together(monkeypatch):
    """Each bucket is as wide as its longest source; one of which less than half is left is made anew."""
    monkeypatch.setattr(source_cache, "MIN_BUCKET_SIZE", 2)
    cache = source_cache.SourceCache(PaddingFreeForward(make()))
    with torch.no_grad():
        cache.admit(padded_rows([5, 16, 4, 12, 15, 12]))
    assert [kv.k.shape[::2] for bucket in cache._buckets for kv in bucket._kv] == [(4, 16)] * 3 + [(2, 5)] * 3
    assert [bucket.active_sentences.tolist() for bucket in cache._buckets] == [[1, 3, 4, 5], [0, 2]]
    cache.select(torch.tensor([3, 5, 0]))  # half of one bucket, and half of the other
    assert [kv.k.shape[::2] for bucket in cache._buckets for kv in bucket._kv] == [(4, 16)] * 3 + [(2, 5)] * 3
    assert [bucket.active_sentences.tolist() for bucket in cache._buckets] == [[0, 1], [2]]
    assert [bucket.active_rows.tolist() for bucket in cache._buckets] == [[1, 3], [0]]
    assert cache.count == 3
    cache.select(torch.tensor([1]))
    assert [kv.k.shape[::2] for bucket in cache._buckets for kv in bucket._kv] == [(1, 12)] * 3
    assert cache.count == 1 and cache._buckets[0].in_order
    cache.select(torch.arange(0))
    assert cache.count == 0 and cache._buckets == []


def test_a_mask_is_made_only_where_it_hides_something():
    like = torch.zeros((), dtype=torch.double)
    assert AttentionMask.if_needed(torch.ones(2, 3, dtype=torch.bool), like) == AttentionMask(None, None)
    keep = torch.tensor([[True, False]])
    mask = AttentionMask.if_needed(keep, like)
    assert mask.attn_mask is keep and mask.additive_mask.tolist()[0][0] == 0 > mask.additive_mask.tolist()[0][1]


def test_what_computes_softmax_is_known():
    model = make()
    assert all(computes_softmax(m) for m in model.modules() if isinstance(m, Attention))
    use_fused_attention(model)
    assert all(computes_softmax(m) for m in model.modules() if isinstance(m, Attention))
    assert not any(computes_softmax(m) for m in make(attention="argmax").modules() if isinstance(m, Attention))


def test_a_cache_keeps_what_was_put_while_it_grows_and_shrinks():
    a, like = attention(), torch.zeros((), dtype=torch.double)
    cache = KVCache(a, like)
    k, v = torch.randn(2, 5, 2, 7, 11, dtype=torch.double)
    cache.reserve(5, 7)
    cache.put(slice(5), slice(7), k, v)
    for rows, columns in ((5, 7), (5, 13), (9, 20), (9, 7)):
        cache.reserve(rows, columns)
        assert all(store.shape[0] >= rows and store.shape[2] >= columns for store in cache._stores)
        assert all(store.shape[2] <= columns * COLUMN_SLACK for store in cache._stores)
        seen = cache.view(5, torch.arange(7)[None])
        assert torch.equal(seen.k, k) and torch.equal(seen.v, v)
    cache.reserve(5, 7, drop_first=2)
    assert torch.equal(cache.view(5, torch.arange(5)[None]).k, k[:, :, 2:])
    assert torch.equal(cache.view(5, torch.arange(5)[None]).v, v[:, :, 2:])
    cache.clear(slice(3, None), slice(2))
    seen = cache.view(5, torch.arange(5)[None])
    assert not seen.k[3:, :, :2].any() and not seen.v[3:, :, :2].any()
    assert torch.equal(seen.k[:3], k[:3, :, 2:]) and torch.equal(seen.v[3:, :, 2:], v[3:, :, 4:])


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [0, 4, 2, 3], [4, 3, 2, 1, 0], [3, 3], [0, 1, 2, 2, 4]])
def test_a_cache_follows_its_rows(order: list[int]):
    a = attention()
    cache, rows = KVCache(a, torch.zeros((), dtype=torch.double)), torch.tensor(order)
    k, v = torch.randn(2, 5, 2, 7, 11, dtype=torch.double)
    cache.reserve(5, 7)
    cache.put(slice(5), slice(7), k, v)
    cache.select(rows, (rows != torch.arange(len(rows))).nonzero()[:, 0])
    seen = cache.view(len(order), torch.arange(7)[None])
    assert torch.equal(seen.k, k[rows]) and torch.equal(seen.v, v[rows])


def test_the_width_of_a_cache_is_that_of_its_wider_attention():
    """Heads kept: self 2, 4, 4 and cross 4, 2, 4 of 4; keys of 6 numbers each."""
    pruned = (*PRUNED, "decoder.2.self.0", "decoder.2.cross.0", "decoder.2.cross.1")
    model = make(dim=24, heads=4, pruned=pruned)
    assert IncrementalDecoder(model).cache_width == 6 * (4 + 4 + 3)


def test_a_prepared_decoder_does_not_follow_later_changes(ids):
    model, source, target = make(), padded_rows([3, 7]), ids(2, 1)
    decoder = IncrementalDecoder(model)
    with torch.no_grad():
        before = decoder.new_batch()
        before.admit(source)
        first = before.step(target[:, 0])
        assert len(before) == 2
        assert before.decoder is decoder
    with pytest.raises(NotImplementedError):
        source_cache.NoSourceCache().attend(0, attention(), torch.zeros(1))
    assert_close(first, F.linear(model(source, target)[:, 0], model.output.weight))


def test_buckets_of_sources_follow_the_lengths(monkeypatch):
    monkeypatch.setattr(source_cache, "MIN_BUCKET_SIZE", 3)
    bucket = source_cache._bucket_by_length
    assert bucket([]) == []
    assert bucket([8, 8, 8, 6, 5]) == [[0, 1, 2, 3], [4]]  # 6 is not below three quarters of 8
    assert bucket([8, 8, 5, 5]) == [[0, 1, 2], [3]]  # two are too few for a bucket of their own
    assert bucket([1, 2, 3, 100, 100, 100]) == [[3, 4, 5], [0, 1, 2]]
