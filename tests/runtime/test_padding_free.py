"""The packed path equals the plain one, number for number and gradient for gradient."""

import pytest
import torch
from torch.testing import assert_close

from regard.data.tokenizer import PAD
from regard.model.transformer import EncoderDecoder
from regard.runtime.padding_free import PaddingFreeForward
from tests.model.conftest import make, padded_rows

VARIANTS = [
    {},
    {"activation": "gelu", "norm_kind": "rms"},
    {"activation": "swiglu", "bias": False, "tie_embeddings": False},
    {"bias": False, "norm": "post"},
    {"norm": "post", "activation": "silu", "scale_embeddings": False, "positions": {"sinusoid_layout": "halves"}},
    {"embedding_norm": True, "activation": "gelu-tanh"},
    {"activation": "squared-relu", "positions": {"kind": "kerple"}},
]


def both(model: EncoderDecoder, source: torch.Tensor, target: torch.Tensor) -> list[dict[str, torch.Tensor]]:
    """States and gradients by the plain path and by the packed one."""
    found = []
    for path in (lambda s, t: model(s, t)[t != PAD], PaddingFreeForward(model)):
        model.zero_grad()
        states = path(source, target)
        (states * torch.linspace(-1, 1, states.numel()).double().view_as(states)).sum().backward()
        gradients = {n: torch.zeros_like(p) if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
        found.append({"states": states.detach(), **gradients})
    return found


def agree(found: list[dict[str, torch.Tensor]]) -> None:
    plain, packed = found
    assert plain.keys() == packed.keys()
    for name in plain:
        assert_close(packed[name], plain[name], rtol=1e-9, atol=1e-11)


def test_padded_batches_come_out_the_same(model: EncoderDecoder):
    agree(both(model, padded_rows([3, 11, 7, 1]), padded_rows([5, 2, 13, 1])))


@pytest.mark.usefixtures("example_plugin")
@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_every_kind_of_layer_comes_out_the_same(settings: dict):
    model = make(**settings, dropout=0.0).train()
    agree(both(model, padded_rows([3, 11, 7]), padded_rows([5, 2, 13])))
    agree(both(model, padded_rows([5, 5, 5]), padded_rows([7, 7, 7])))  # nothing to leave out


def test_dropout_is_off_outside_training():
    model = make(dropout=0.5, attention_dropout=0.5, activation_dropout=0.5, word_dropout=0.5)
    agree(both(model, padded_rows([3, 7]), padded_rows([5, 2])))


@pytest.mark.parametrize("where", ["dropout", "attention_dropout", "activation_dropout", "word_dropout"])
def test_each_dropout_acts_and_follows_the_seed(where: str):
    model = make(**{"dropout": 0.0, where: 0.3}).train()
    path, rows = PaddingFreeForward(model), (padded_rows([3, 7]), padded_rows([5, 2]))
    torch.manual_seed(1)
    first, second = path(*rows), path(*rows)
    torch.manual_seed(1)
    assert torch.equal(path(*rows), first)
    assert not torch.allclose(first, second)
