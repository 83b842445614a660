"""What holds for every model, whatever its positions and norms."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.config import ModelConfig, PositionsConfig
from regard.config.registries import ACTIVATIONS
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import ModelError
from regard.model.build import build
from regard.model.modules import count_parameters
from regard.model.taps import named_taps, record
from regard.model.transformer import EncoderDecoder, word_dropout
from tests.model.conftest import SCHEMES, make, positions


def test_states_have_the_shape_of_the_target(model: EncoderDecoder, ids):
    states = model(ids(3, 7), ids(3, 5))
    assert states.shape == (3, 5, 22)
    assert model.output(states).shape == (3, 5, 23)


def test_padding_on_the_right_changes_nothing(model: EncoderDecoder, ids):
    source, target = ids(2, 7), ids(2, 5)
    padding = torch.full((2, 3), PAD)
    padded = model(torch.cat((source, padding), 1), torch.cat((target, padding), 1))
    assert_close(padded[:, :5], model(source, target))


def test_padding_on_the_left_changes_nothing_if_positions_say_so(model: EncoderDecoder, ids):
    source, target = ids(2, 7), ids(2, 5)
    padding = torch.full((2, 3), PAD)
    at = torch.arange(-3, 7).clamp(min=0)[None]
    encoded = model.encode(torch.cat((padding, source), 1), at)
    states = model.decode(torch.cat((padding, target), 1), encoded, position_ids=at[:, :8])
    assert_close(states[:, 3:], model(source, target))


def test_the_future_is_not_seen(model: EncoderDecoder, ids):
    source, target = ids(2, 7), ids(2, 11)
    other = target.clone()
    other[:, 5:] = ids(2, 6)
    assert_close(model(source, target)[:, :5], model(source, other)[:, :5], rtol=0, atol=0)
    assert not torch.allclose(model(source, target)[:, 5:], model(source, other)[:, 5:])


def test_the_source_is_seen(model: EncoderDecoder, ids):
    target = ids(2, 5)
    assert not torch.allclose(model(ids(2, 7), target), model(ids(2, 7), target))


def test_a_batch_of_many_equals_one_by_one(model: EncoderDecoder, ids):
    sources, targets = [ids(1, n) for n in (7, 3, 5)], [ids(1, n) for n in (2, 11, 5)]
    batch = model(stack(sources), stack(targets))
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert_close(batch[i, : target.shape[1]], model(source, target)[0])


def stack(rows: list[Tensor]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([row[0] for row in rows], batch_first=True, padding_value=PAD)


def test_an_encoder_without_positions_sees_a_bag_of_words_and_the_others_do_not(models, ids):
    source, target, order = ids(2, 7), ids(2, 5), torch.tensor([3, 1, 6, 0, 5, 2, 4])
    blind = models(positions=PositionsConfig(kind="none"))
    assert_close(blind(source, target), blind(source[:, order], target))
    for name in SCHEMES.keys() - {"none"}:
        seeing = models(positions=positions(name))
        for parameter in seeing.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
        assert not torch.allclose(seeing(source, target), seeing(source[:, order], target)), name


def test_encoder_and_decoder_may_have_different_positions(models, ids):
    source, target, order = ids(2, 7), ids(2, 5), torch.tensor([3, 1, 6, 0, 5, 2, 4])
    blind = models(encoder={"positions": {"kind": "none"}})
    assert_close(blind(source, target), blind(source[:, order], target))


def test_a_learned_table_refuses_what_it_has_not_learnt(models, ids):
    model = models(positions=PositionsConfig(kind="learned", length=7))
    model(ids(1, 7), ids(1, 7))
    with pytest.raises(ModelError, match=r"8 tokens is too long: .* 7 tokens \(model.positions.length\)"):
        model(ids(1, 8), ids(1, 5))


def test_sinusoids_do_not_end_where_their_cache_does(models, ids):
    from regard.model.positions import Sinusoidal, sinusoid

    short, at = Sinusoidal(13, precomputed_length=5), torch.arange(11)[None]
    x = torch.zeros(1, 11, 13)
    assert_close(short.embed(x, at)[0], sinusoid(at, 13)[0].float())
    assert_close(short.embed(x[:, :3], at[:, :3])[0], sinusoid(at, 13)[0, :3].float())


def test_sinusoid_is_the_formula_of_2017():
    from regard.model.positions import sinusoid

    table = sinusoid(torch.arange(7), 10)
    for p in range(7):
        for t in range(5):
            angle = torch.tensor(p / 10000 ** (2 * t / 10)).double()
            assert_close(table[p, 2 * t], angle.sin())
            assert_close(table[p, 2 * t + 1], angle.cos())


@pytest.mark.parametrize("dim", [10, 11])
def test_waves_in_halves_are_the_same_numbers_in_another_order(dim: int):
    from regard.model.positions import sinusoid

    at = torch.arange(7)
    order = [*range(0, dim, 2), *range(1, dim, 2)]
    assert torch.equal(sinusoid(at, dim, halves=True), sinusoid(at, dim)[:, order])


def test_words_are_scaled_and_normalised_as_asked(models, ids):
    text, at, nowhere = ids(2, 7), torch.arange(7)[None], {"kind": "none"}
    plain = models(scale_embeddings=False, positions=nowhere).encoder.embedding
    assert torch.equal(plain(text, at), plain.tokens(text))
    normed = models(embedding_norm=True, positions=nowhere).encoder.embedding
    assert_close(normed(text, at), torch.nn.functional.layer_norm(normed.tokens(text) * 22**0.5, (22,)))


def test_an_output_bias_is_added_to_every_score(models, ids):
    model, states = models(output_bias=True), torch.randn(2, 5, 22).double()
    model.output.bias.data.uniform_()
    assert_close(model.output(states), states @ model.output.weight.T + model.output.bias)


@pytest.mark.usefixtures("example_plugin")
@pytest.mark.parametrize("activation", [*ACTIVATIONS.built_in, "squared-relu"])
@pytest.mark.parametrize("norm_kind", ["layer", "rms"])
def test_every_feed_forward_and_norm_runs_and_learns(models, ids, activation: str, norm_kind: str):
    model = models(activation=activation, norm_kind=norm_kind, bias=False)
    model(ids(2, 7), ids(2, 5)).sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


def test_tied_tables_are_one_and_untied_are_three(models):
    V, D = 23, 22
    assert count_parameters(models(tie_embeddings=False)) - count_parameters(models(tie_embeddings=True)) == 2 * V * D
    tied = models()
    assert tied.output.weight is tied.encoder.embedding.tokens.weight is tied.decoder.embedding.tokens.weight


def test_sides_with_their_own_vocabulary_share_only_the_target_table():
    model = build(ModelConfig(dim=22, heads=2), 23, 29, joint=False, pad=PAD)
    assert model.encoder.embedding.tokens.weight.shape == (23, 22)
    assert model.output.weight is model.decoder.embedding.tokens.weight
    assert model.output.weight.shape == (29, 22)


def test_taps_have_the_names_that_people_type(models, ids):
    model = models()
    names = set(named_taps(model))
    for name in (
        "encoder.embed",
        "encoder.layers.1.self_attn.weights",
        "encoder.layers.1.out",
        "decoder.layers.2.cross_attn.scores",
    ):
        assert name in names
    with record(model, "decoder.layers.*.cross_attn.weights") as seen:
        watched = model(ids(2, 7), ids(2, 5))
    assert sorted(seen) == [f"decoder.layers.{i}.cross_attn.weights" for i in range(3)]
    assert seen["decoder.layers.0.cross_attn.weights"].shape == (2, 2, 5, 7)
    assert watched.shape == (2, 5, 22)


def test_a_tap_that_is_not_there_is_named_with_those_that_are(models):
    message = r"no tap matches decoder.layers.9.* available: .*encoder.embed"
    with pytest.raises(ModelError, match=message), record(models(), "decoder.layers.9.*"):
        pass


def test_dropout_acts_in_training_only(models, ids):
    model, source, target = models(dropout=0.5), ids(2, 7), ids(2, 5)
    assert_close(model(source, target), model(source, target))
    model.train()
    assert not torch.allclose(model(source, target), model(source, target))


def test_word_dropout_hides_whole_words_in_training_only():
    x = torch.ones(31, 37, 5)
    hidden = word_dropout(x, 0.25, training=True)
    assert set(hidden.sum(-1).flatten().tolist()) == {0.0, 5.0}
    assert 0.2 < float((hidden == 0).double().mean()) < 0.3
    assert word_dropout(x, 0.25, training=False) is x


def test_weights_start_as_the_settings_say():
    torch.manual_seed(3)
    wide: dict[str, object] = {"dim": 120, "heads": 3, "ffn": 210}
    small = make(**wide, init="small", embedding_std=0.02)
    expected = math.sqrt(2 / (5 * 120))
    for linear in (small.encoder.layers[0].self_attn.q_proj, small.decoder.layers[2].feed_forward.up):
        assert float(linear.weight.std().detach()) == pytest.approx(expected, rel=0.05) and not linear.bias.any()
    assert float(small.encoder.embedding.tokens.weight.std().detach()) == pytest.approx(0.02, rel=0.1)
    assert float(make(**wide).encoder.embedding.tokens.weight.std().detach()) == pytest.approx(120**-0.5, rel=0.1)


def test_scaled_residuals_start_smaller_by_the_root_of_the_branches_of_their_stack():
    torch.manual_seed(3)
    plain = make(activation="swiglu")
    torch.manual_seed(3)
    scaled = make(activation="swiglu", scale_residual_init=True)  # 2 encoder layers, 3 decoder layers
    original = dict(plain.named_parameters())
    assert original.keys() == dict(scaled.named_parameters()).keys()
    for name, parameter in scaled.named_parameters():
        is_output = name.endswith(("out_proj.weight", "feed_forward.down.weight"))
        branches = (2 * 2 if name.startswith("encoder") else 3 * 3) if is_output else 1
        assert_close(parameter * math.sqrt(branches), original[name])
