"""Taps: gradients at them, patterns of their names; and parts that are lent to builders."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.errors import ModelError
from regard.model.build import RESIDUALS, build_encoder, use_parts
from regard.model.modules import evaluation_mode
from regard.model.taps import alter, match_taps, named_taps, record
from regard.model.variants import NoResidual

IDS = torch.tensor([[3, 5, 2, 7, 1]])


@pytest.fixture
def model():
    torch.manual_seed(1)
    return build_encoder(ModelConfig(dim=22, layers=3, heads=2, ffn=13, dropout=0.0), 11, pad=0).double()


def test_a_pattern_matches_the_names_of_taps(model):
    scores = match_taps(model, "encoder.layers.*.scores")
    assert list(scores) == [f"encoder.layers.{n}.self_attn.scores" for n in range(3)]
    assert match_taps(model, "*").keys() == named_taps(model).keys()
    with pytest.raises(ModelError, match=r"no tap matches decoder.\* or x; available: "):
        match_taps(model, "decoder.*", "x")


def test_gradients_at_taps_are_those_of_autograd(model):
    with evaluation_mode(model), record(model, "*.weights") as plain:
        expected = torch.autograd.grad(model(IDS)[0, -1].square().sum(), list(plain.values()))
    with evaluation_mode(model), record(model, "*.weights", gradients=True) as tensors:
        model(IDS)[0, -1].square().sum().backward()
    assert len(expected) == 3
    for tensor, gradient in zip(tensors.values(), expected, strict=True):
        assert gradient.abs().sum() > 0
        assert_close(tensor.grad, gradient, rtol=0, atol=0)


def test_a_pattern_alters_all_taps_that_it_matches(model):
    def halve(tensor: torch.Tensor) -> torch.Tensor:
        return tensor / 2

    one_by_one = {f"encoder.layers.{n}.self_attn.head_outputs": halve for n in range(3)}
    with torch.no_grad(), evaluation_mode(model):
        plain = model(IDS)
        with alter(model, {"*.head_outputs": halve}):
            together = model(IDS)
        with alter(model, one_by_one):
            assert_close(model(IDS), together, rtol=0, atol=0)
        assert not torch.allclose(plain, together)
        assert_close(model(IDS), plain, rtol=0, atol=0)


def test_parts_are_lent_for_the_block_alone():
    config, original = ModelConfig(dim=22, layers=1, heads=2), dict(RESIDUALS)
    with pytest.raises(ZeroDivisionError), use_parts(RESIDUALS, pre=NoResidual):
        lent = build_encoder(config, 11, pad=0)
        assert any(isinstance(module, NoResidual) for module in lent.modules())
        raise ZeroDivisionError
    assert original == RESIDUALS
    assert not any(isinstance(module, NoResidual) for module in build_encoder(config, 11, pad=0).modules())
    with (
        pytest.raises(ModelError, match="there is no part 'per'; available: pre, post"),
        use_parts(RESIDUALS, per=None),
    ):
        pass
