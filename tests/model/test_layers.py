"""Layers against the formulas, written out with plain tensors."""

import math

import torch
from torch import Tensor
from torch.testing import assert_close

from regard.model.layers import LayerNorm
from regard.model.variants import RMSNorm


def norm(x: Tensor, n: LayerNorm) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + n.epsilon) * n.weight + n.bias


def linear(x: Tensor, m: torch.nn.Linear) -> Tensor:
    return x @ m.weight.T + m.bias


def multi_head(x: Tensor, y: Tensor, a, mask: Tensor) -> Tensor:
    """MultiHead(Q, K, V) = Concat(head_1 … head_h) W_O, head_i = softmax(Q_i K_iᵀ / √d_k) V_i."""
    q, k, v, width = linear(x, a.q_proj), linear(y, a.k_proj), linear(y, a.v_proj), x.shape[-1] // a.heads
    heads = []
    for i in range(a.heads):
        part = slice(i * width, (i + 1) * width)
        scores = q[..., part] @ k[..., part].transpose(-1, -2) / math.sqrt(width)
        scores = scores + torch.where(mask, 0.0, -1e30)
        e = torch.exp(scores - scores.max(-1, keepdim=True).values)
        heads.append(e / e.sum(-1, keepdim=True) @ v[..., part])
    return linear(torch.cat(heads, -1), a.out_proj)


def feed(x: Tensor, f) -> Tensor:
    return linear(torch.clamp(linear(x, f.up), min=0), f.down)


def randomise(module: torch.nn.Module) -> None:
    for p in module.parameters():
        torch.nn.init.normal_(p, std=0.5)


def test_post_norm_is_the_transformer_of_2017_written_out(models, ids):
    model = models(norm="post", encoder_layers=2, decoder_layers=2)
    randomise(model)
    source, target, width = ids(3, 7), ids(3, 5), 22
    table = model.output.weight

    def embed(tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1]).double()[:, None] / 10000 ** (
            2 * (torch.arange(width) // 2).double() / width
        )
        waves = torch.where(torch.arange(width) % 2 == 0, torch.sin(places), torch.cos(places))
        return table[tokens] * math.sqrt(width) + waves

    everything = torch.ones(1, 7, dtype=torch.bool)
    past = torch.tensor([[j <= i for j in range(5)] for i in range(5)])
    x = embed(source)
    for layer in model.encoder.layers:
        x = norm(x + multi_head(x, x, layer.self_attn, everything), layer.self_attn_residual.norm)
        x = norm(x + feed(x, layer.feed_forward), layer.feed_forward_residual.norm)
    y = embed(target)
    for layer in model.decoder.layers:
        y = norm(y + multi_head(y, y, layer.self_attn, past), layer.self_attn_residual.norm)
        y = norm(y + multi_head(y, x, layer.cross_attn, everything), layer.cross_attn_residual.norm)
        y = norm(y + feed(y, layer.feed_forward), layer.feed_forward_residual.norm)
    assert_close(model(source, target), y, rtol=1e-6, atol=1e-6)  # the table of waves is kept in float32
    assert_close(model.output(y), y @ table.T)


def test_pre_norm_normalises_the_input_of_each_sublayer(models, ids):
    model = models(norm="pre", encoder_layers=1)
    randomise(model)
    layer, x = model.encoder.layers[0], torch.randn(3, 7, 22).double()
    everything, at = torch.ones(1, 7, dtype=torch.bool), torch.arange(7)[None]
    y = norm(x, layer.self_attn_residual.norm)
    expected = x + multi_head(y, y, layer.self_attn, everything)
    expected = expected + feed(norm(expected, layer.feed_forward_residual.norm), layer.feed_forward)
    assert_close(layer(x, everything, at), expected)


def test_norms_are_their_formulas():
    x = torch.randn(3, 5, 7).double()
    ours, rms = LayerNorm(7, 1e-3).double(), RMSNorm(7, 1e-3).double()
    randomise(ours)
    randomise(rms)
    assert_close(ours(x), norm(x, ours))
    assert_close(rms(x), x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-3) * rms.weight)


def test_gated_feed_forward_is_its_formula(models):
    gated = models(activation="swiglu").encoder.layers[0].feed_forward
    x = torch.randn(2, 3, 22).double()
    g = linear(x, gated.gate)
    assert_close(gated(x), linear(g * torch.sigmoid(g) * linear(x, gated.up), gated.down))
