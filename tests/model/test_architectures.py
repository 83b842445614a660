"""The same layers as an encoder alone, as a decoder alone, and as both over one text."""

import pytest
import torch
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.model.build import (
    POOLINGS,
    build,
    build_decoder,
    build_encoder,
    build_source_target_decoder,
    build_text_encoder_decoder,
)
from regard.model.single_stack import DecoderOnly, join_sequences
from regard.model.taps import record
from tests.model.conftest import SCHEMES, V, padded_rows, positions


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
    states, real = torch.randn(2, 7, 22).double(), torch.ones(2, 7).bool()
    pooled = wake(build_encoder(config("none", architecture="encoder", pooler=True), V, PAD))
    linear = pooled.pool.linear
    assert_close(pooled.pool(states, real), (states[:, 0] @ linear.weight.T + linear.bias).tanh())
    assert torch.equal(wake(build_encoder(config("none"), V, PAD)).pool(states, real), states[:, 0])


@pytest.mark.parametrize("make", [build_encoder, build_decoder, build_text_encoder_decoder])
@pytest.mark.parametrize("pooling", [None, *POOLINGS])
def test_a_text_has_one_state_however_it_is_padded(make, pooling):
    model, lengths = wake(make(config("rotary"), V, PAD, 5, pooling)), [3, 11, 7, 1]
    text = padded_rows(lengths)
    states = model(text)
    pooled = model.pool(states, text != PAD)
    assert pooled.shape == (4, 22)
    for row, length in enumerate(lengths):
        alone = text[row : row + 1, :length]
        assert_close(model.pool(model(alone), alone != PAD)[0], pooled[row])
    expected = {
        "mean": torch.stack([states[row, :length].mean(0) for row, length in enumerate(lengths)]),
        "first": states[:, 0],
        "last": torch.stack([states[row, length - 1] for row, length in enumerate(lengths)]),
    }
    if pooling != "pooler":
        assert_close(pooled, expected[pooling or ("first" if make is build_encoder else "last")])


@pytest.mark.parametrize("make", [build_encoder, build_decoder])
def test_labels_are_predicted_by_an_output_of_their_own_and_the_rest_is_as_before(make):
    language_model, classifier = make(config("learned"), V, PAD), make(config("learned"), V, PAD, 5, "mean")
    theirs, ours = (dict(model.named_parameters()) for model in (language_model, classifier))
    output = {"output.weight": (5, 22), "output.bias": (5,)}
    assert {name: p.shape for name, p in ours.items() if name.startswith("output.")} == output
    assert {name: p.shape for name, p in theirs.items()} == {n: p.shape for n, p in ours.items() if n not in output}
    probabilities = classifier.output(classifier.pool(classifier.double()(ids := padded_rows([7, 3])), ids != PAD))
    assert_close(probabilities.softmax(-1), torch.full((2, 5), 0.2).double(), rtol=0, atol=0.1)  # none is preferred


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


def test_a_text_in_both_stacks_is_its_own_source(ids):
    """As the encoder-decoder of translation computes it, with the text on both sides."""
    model, text = wake(build_text_encoder_decoder(config("learned"), V, PAD)), padded_rows([3, 11, 7])
    whole = build(config("learned"), V, V, joint=True, pad=PAD).double().eval()
    whole.load_state_dict(model.state_dict())
    assert_close(model(text), whole(text, text))
    other = text.clone()
    other[1, 10] = (text[1, 10] - 4 + 1) % (V - 4) + 4
    assert not torch.allclose(model(other)[1, 0], model(text)[1, 0])  # through cross-attention


@pytest.mark.parametrize("name", ["sinusoidal", "learned", "rotary", "t5"])
def test_source_and_target_are_one_sequence_without_padding_between(name: str, ids):
    model = wake(build_source_target_decoder(config(name), V, PAD))
    alone = DecoderOnly(model.decoder, model.output, PAD)
    lengths = [3, 11, 7], [5, 2, 13]
    source, target = (padded_rows(side) for side in lengths)
    states = model(source, target)
    assert states.shape == (3, 13, 22)
    for row, (s, t) in enumerate(zip(*lengths, strict=True)):
        expected = alone(torch.cat((source[row, :s], target[row, :t]))[None])[0, s:]
        assert_close(states[row, :t], expected)


def test_joined_rows_keep_their_order_and_say_which_tokens_are_the_targets():
    source, target = torch.tensor([[5, 6, 7], [8, PAD, PAD]]), torch.tensor([[9, PAD], [10, 11]])
    joined, is_target = join_sequences(source, target, PAD)
    assert joined.tolist() == [[5, 6, 7, 9], [8, 10, 11, PAD]]
    assert is_target.tolist() == [[False, False, False, True], [False, True, True, False]]
