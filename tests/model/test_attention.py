"""The equation, and the module that is handed it."""

import math

import torch
from torch.testing import assert_close

from regard.model import masks
from regard.model.attention import Attention, attend
from regard.model.positions import Positions
from regard.model.taps import record
from tests.model.conftest import make

B, H, Tq, Tk, K, OUT = 2, 3, 5, 7, 11, 13


def qkv() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = torch.randn(B, H, Tq, K), torch.randn(B, H, Tk, K), torch.randn(B, H, Tk, OUT)
    return q.double().requires_grad_(), k.double().requires_grad_(), v.double().requires_grad_()


def test_attend_keeps_axes_and_its_rows_sum_to_one():
    y, w = attend(*qkv())
    assert y.shape == (B, H, Tq, OUT) and w.shape == (B, H, Tq, Tk)
    assert_close(w.sum(-1), torch.ones(B, H, Tq).double())


def test_attend_is_the_equation_written_with_loops():
    q, k, v = (x.detach() for x in qkv())
    bias = torch.randn(B, H, Tq, Tk).double()
    keep = torch.rand(B, 1, Tq, Tk) > 0.3
    keep[..., 0] = True
    y, _ = attend(q, k, v, keep, bias)
    for b in range(B):
        for h in range(H):
            for i in range(Tq):
                seen = [j for j in range(Tk) if keep[b, 0, i, j]]
                raw = {j: float(q[b, h, i] @ k[b, h, j]) / math.sqrt(K) + float(bias[b, h, i, j]) for j in seen}
                e = {j: math.exp(score) for j, score in raw.items()}
                expected = sum(e[j] / sum(e.values()) * v[b, h, j] for j in seen)
                assert_close(y[b, h, i], expected)


def test_a_masked_key_has_weight_exactly_zero():
    keep = torch.ones(B, 1, 1, Tk, dtype=torch.bool)
    keep[0, ..., 3:] = False
    _, w = attend(*qkv(), keep)
    assert (w[0, ..., 3:] == 0).all() and (w[1] > 0).all()


def test_a_row_with_nothing_to_look_at_returns_zero_and_harms_no_gradient():
    q, k, v = qkv()
    keep = torch.ones(B, 1, Tq, Tk, dtype=torch.bool)
    keep[0, 0, 2] = False
    y, w = attend(q, k, v, keep)
    assert (y[0, :, 2] == 0).all() and (w[0, :, 2] == 0).all()
    y.sum().backward()
    assert all(bool(torch.isfinite(x.grad).all()) for x in (q, k, v))
    assert (q.grad[0, :, 2] == 0).all()


def test_heads_see_different_parts():
    """Each head reads its own K of the D dimensions: zeroing the values of one head changes only its own share."""
    attention = Attention(dim=15, heads=3, positions=Positions()).double()
    torch.nn.init.eye_(attention.out_proj.weight)
    torch.nn.init.zeros_(attention.out_proj.bias)
    x, at = torch.randn(2, 7, 15).double(), torch.arange(7)[None]
    before = attention(x, attention.project_kv(x, at), None, at)
    with torch.no_grad():
        attention.v_proj.weight[5:10] = 0
        attention.v_proj.bias[5:10] = 0
    after = attention(x, attention.project_kv(x, at), None, at)
    assert_close(after[..., :5], before[..., :5])
    assert_close(after[..., 10:], before[..., 10:])
    assert (after[..., 5:10] == 0).all()


def test_watching_changes_nothing():
    attention = Attention(dim=15, heads=3, positions=Positions()).double()
    x, at, keep = torch.randn(2, 7, 15).double(), torch.arange(7)[None], masks.causal_mask(7)
    alone = attention(x, attention.project_kv(x, at), keep, at)
    with record(attention, "weights", "scores") as seen:
        watched = attention(x, attention.project_kv(x, at), keep, at)
    assert_close(alone, watched)
    assert seen["weights"].shape == (2, 3, 7, 7)
    assert (seen["weights"].triu(1) == 0).all()
    assert not attention.weights.is_hooked


def test_a_causal_mask_hides_the_future_alone():
    assert masks.causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_an_attention_calls_the_function_that_it_is_handed():
    calls = []

    def uniform(q, k, v, attn_mask, bias, dropout, taps):
        calls.append((q.shape, attn_mask, bias, dropout))
        weights = taps.weights(torch.full((*q.shape[:3], k.shape[2]), 1 / k.shape[2]).to(q))
        return weights @ v, weights

    attention = Attention(dim=15, heads=3, positions=Positions(), attend=uniform).double()
    x, at = torch.randn(2, 7, 15).double(), torch.arange(7)[None]
    y = attention(x, attention.project_kv(x, at), None, at)
    assert calls == [((2, 3, 7, 5), None, None, 0.0)]
    mean = attention.out_proj(attention.v_proj(x).mean(dim=1, keepdim=True))
    assert_close(y, mean.expand_as(y))


def test_normalized_queries_and_keys_score_by_their_directions_alone(ids):
    model, source, target = make(qk_norm=True, norm_epsilon=1e-12), ids(2, 5), ids(2, 7)
    attention = model.decoder.layers[1].cross_attn
    attention.q_norm.weight.data.uniform_(0.5, 2)
    attention.k_norm.weight.data.uniform_(0.5, 2)
    tap = "decoder.layers.1.cross_attn.scores"
    with record(model, tap) as activations:
        states = model(source, target)
    bound = (attention.q_norm.weight * attention.k_norm.weight).max() * attention.head_dim**0.5
    assert 0 < float(activations[tap].detach().abs().max()) <= float(bound.detach())
    for linear in (attention.q_proj, attention.k_proj):  # their length does not matter
        linear.weight.data *= 7
        linear.bias.data *= 7
    assert_close(model(source, target), states)
    attention.v_proj.weight.data *= 7
    assert not torch.allclose(model(source, target), states)
