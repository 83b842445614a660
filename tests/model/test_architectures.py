"""The same layers as an encoder alone and as a language model alone."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizer import PAD
from regard.model.build import build_decoder, build_encoder
from regard.model.taps import record
from tests.model.conftest import SCHEMES, V, positions


def config(name: str, **settings: object) -> ModelConfig:
    return ModelConfig(**{"dim": 22, "heads": 2, "ffn": 13, "layers": 3, "positions": positions(name), **settings})


def wake(model: torch.nn.Module) -> torch.nn.Module:
    """Nothing that starts at zero may hide."""
    torch.manual_seed(5)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.double().eval()


@pytest.mark.parametrize("name", SCHEMES)
def test_a_language_model_sees_no_future(name: str, ids):
    model, text = wake(build_decoder(config(name), V, PAD)), ids(3, 11)
    whole = model(text)
    other = text.clone()
    other[:, 6:] = ids(3, 5)
    assert_close(model(other)[:, :6], whole[:, :6], rtol=0, atol=0)
    assert model.output(whole).shape == (3, 11, V)


@pytest.mark.parametrize("name", SCHEMES)
def test_an_encoder_sees_everything_but_padding(name: str, ids):
    model, text = wake(build_encoder(config(name), V, PAD)), ids(2, 7)
    padded = torch.cat((text, torch.full((2, 3), PAD)), dim=1)
    assert_close(model(padded)[:, :7], model(text))
    other = text.clone()
    other[:, 6] = (text[:, 6] - 4 + 1) % (V - 4) + 4
    assert not torch.allclose(model(other)[:, 0], model(text)[:, 0])


def test_padding_on_the_left_of_a_prompt_changes_nothing_if_positions_say_so(ids):
    model, text = wake(build_decoder(config("rotary"), V, PAD)), ids(2, 7)
    padded = torch.cat((torch.full((2, 3), PAD), text), dim=1)
    at = torch.arange(-3, 7).clamp(min=0)[None]
    assert_close(model(padded, position_ids=at)[:, 3:], model(text))


def test_token_types_mark_words_and_the_first_kind_is_meant_if_none_is_named(ids):
    model, text = wake(build_encoder(config("learned", architecture="encoder", token_types=3), V, PAD)), ids(2, 7)
    kinds = torch.zeros_like(text)
    assert_close(model(text, token_type_ids=kinds), model(text))
    kinds[:, 4:] = 2
    assert not torch.allclose(model(text, token_type_ids=kinds)[:, 0], model(text)[:, 0])


def test_a_pooler_is_one_more_layer_over_the_first_token():
    states = torch.randn(2, 7, 22).double()
    pooled = wake(build_encoder(config("none", architecture="encoder", pooler=True), V, PAD))
    linear = pooled.pool.linear
    assert_close(pooled.pool(states), (states[:, 0] @ linear.weight.T + linear.bias).tanh())
    assert torch.equal(wake(build_encoder(config("none"), V, PAD)).pool(states), states[:, 0])


def test_their_taps_are_named_like_those_of_the_whole(ids):
    model = wake(build_decoder(config("none"), V, PAD))
    with record(model, "decoder.layers.2.self_attn.weights") as seen:
        model(ids(2, 5))
    assert seen["decoder.layers.2.self_attn.weights"].shape == (2, 2, 5, 5)


@pytest.mark.parametrize("make", [build_encoder, build_decoder])
def test_tables_are_tied_unless_asked(make):
    assert make(config("none"), V, PAD).output.weight.shape == (V, 22)
    tied, untied = make(config("none"), V, PAD), make(config("none", tie_embeddings=False), V, PAD)
    assert sum(p.numel() for p in untied.parameters()) - sum(p.numel() for p in tied.parameters()) == V * 22
