"""The packed path equals the plain one, number for number and gradient for gradient."""

from collections.abc import Callable

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.model.build import build_decoder, build_encoder
from regard.model.single_stack import DecoderOnly, EncoderOnly
from regard.model.transformer import EncoderDecoder
from regard.runtime.padding_free import PaddingFreeForward, PaddingFreeStack
from tests.model.conftest import KINDS, V, make, padded_rows

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
    paths = (lambda: model(source, target)[target != PAD], lambda: PaddingFreeForward(model)(source, target))
    return states_and_gradients(model, *paths)


def states_and_gradients(model: torch.nn.Module, *paths: Callable[[], torch.Tensor]) -> list[dict[str, torch.Tensor]]:
    found = []
    for path in paths:
        model.zero_grad()
        states = path()
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


def make_stack(build: Callable[..., EncoderOnly | DecoderOnly], **settings: object) -> EncoderOnly | DecoderOnly:
    torch.manual_seed(1)
    c = ModelConfig(**{"dim": 22, "heads": 2, "ffn": 13, "layers": 3, "dropout": 0.0, **settings})
    model = build(c, V, PAD).double().train()
    for parameter in model.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def agree_on(model: EncoderOnly | DecoderOnly, ids: torch.Tensor, types: torch.Tensor | None = None) -> None:
    fast = PaddingFreeStack(model)
    plain_path, fast_path = lambda: model(ids, token_type_ids=types)[ids != PAD], lambda: fast(ids, types).states
    agree(states_and_gradients(model, plain_path, fast_path))
    states, layout = fast(ids, types)
    assert_close(layout.pad(states)[ids != PAD], states)


@pytest.mark.usefixtures("example_plugin")
@pytest.mark.parametrize("build", [build_encoder, build_decoder])
@pytest.mark.parametrize("settings", [*KINDS.values(), *VARIANTS], ids=str)
def test_a_stack_that_stands_alone_comes_out_the_same(settings: dict, build: Callable[..., EncoderOnly | DecoderOnly]):
    model = make_stack(build, **settings)
    agree_on(model, padded_rows([3, 11, 7, 1]))
    agree_on(model, padded_rows([5, 5, 5]))  # nothing to leave out


def test_token_types_are_those_of_their_tokens():
    model = make_stack(build_encoder, architecture="encoder", token_types=3)
    ids = padded_rows([3, 11, 7])
    types = torch.randint(0, 3, ids.shape)
    agree_on(model, ids, types)
    fast = PaddingFreeStack(model)
    assert not torch.allclose(fast(ids, types).states, fast(ids).states)


@pytest.mark.parametrize("build", [build_encoder, build_decoder])
def test_a_stack_drops_in_training_alone(build: Callable[..., EncoderOnly | DecoderOnly]):
    model, ids = make_stack(build, dropout=0.3, word_dropout=0.3), padded_rows([3, 7])
    fast = PaddingFreeStack(model)
    assert not torch.allclose(fast(ids).states, fast(ids).states)
    model.eval()
    agree_on(model, ids)
