"""The fused kernels equal the equation, and stand in for it only where the weights are not needed."""

import pytest
import torch
from torch.testing import assert_close

from regard.model.attention import Attention, attend
from regard.model.taps import alter, named_taps, record
from regard.model.transformer import EncoderDecoder
from regard.runtime.attention import fused_attention, use_fused_attention
from tests.model.conftest import make, padded_rows, positions

B, H, Tq, Tk, K = 2, 3, 5, 7, 11


def qkv() -> list[torch.Tensor]:
    sizes = ((B, H, Tq, K), (B, H, Tk, K), (B, H, Tk, K))
    return [torch.randn(size).double().requires_grad_() for size in sizes]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_fused_equals_equation_in_value_and_gradient(masked: bool, biased: bool):
    keep = torch.rand(B, 1, Tq, Tk) > 0.3 if masked else None
    if keep is not None:
        keep[..., 0] = True
    bias = torch.randn(1, H, Tq, Tk).double().requires_grad_() if biased else None
    inputs = [*qkv(), *([bias] if biased else [])]
    direction = torch.randn(B, H, Tq, K).double()
    ours, _ = attend(*inputs[:3], keep, bias)
    fused, weights = fused_attention(*inputs[:3], keep, bias)
    assert weights is None
    assert_close(ours, fused, rtol=0, atol=1e-12)
    for mine, theirs in zip(
        torch.autograd.grad((ours * direction).sum(), inputs, retain_graph=True),
        torch.autograd.grad((fused * direction).sum(), inputs),
        strict=True,
    ):
        assert_close(mine, theirs, rtol=0, atol=1e-12)


def test_a_row_that_is_all_masked_is_zero_in_both():
    keep = torch.ones(B, 1, Tq, Tk, dtype=torch.bool)
    keep[0, 0, 2] = False
    inputs = qkv()
    fused, _ = fused_attention(*inputs, keep)
    assert_close(fused, attend(*inputs, keep)[0])
    assert (fused[0, :, 2] == 0).all()


def test_a_model_with_fused_attention_computes_the_same(model: EncoderDecoder):
    source, target = padded_rows([3, 11, 7, 1]), padded_rows([5, 2, 13, 1])
    plain = model(source, target)
    use_fused_attention(model)
    assert_close(model(source, target), plain)


def attentions(model: EncoderDecoder) -> list[Attention]:
    return [module for module in model.modules() if isinstance(module, Attention)]


@pytest.mark.parametrize("settings", [{"positions": positions("relative-values")}, {"attention": "argmax"}], ids=str)
def test_what_needs_its_weights_is_left_alone(settings: dict):
    model = make(**settings)
    own = [attention.attend for attention in attentions(model)]
    use_fused_attention(model)
    changed = [now.attend is not before for now, before in zip(attentions(model), own, strict=True)]
    cross = [".cross_attn" in name for name, m in model.named_modules() if isinstance(m, Attention)]
    assert changed == ([False] * len(own) if "attention" in settings else cross)


def test_a_hooked_tap_is_passed_by_the_weights_that_are_used():
    model, source, target = make(), padded_rows([3, 7]), padded_rows([5, 2])
    use_fused_attention(model)
    name = "decoder.layers.1.cross_attn.weights"
    plain = model(source, target)
    with record(model, name) as recorded:
        assert_close(model(source, target), plain)
    assert recorded[name].shape == (2, 2, 5, 7)
    with alter(model, {name: torch.zeros_like}):
        assert not torch.allclose(model(source, target), plain)
    assert not any(tap.is_hooked for tap in named_taps(model).values())
