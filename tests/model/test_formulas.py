"""Schemes are their formulas, weights begin as they should, and pruned models are models without those heads."""

import math
import os
import stat

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.config import ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import ModelError
from regard.model import weights
from regard.model.attention import Attention
from regard.model.build import build, build_decoder, build_encoder
from regard.model.masks import causal_padding_mask, padding_mask
from regard.model.modules import device_of, evaluation_mode
from regard.model.positions import (
    ALiBi,
    Concatenated,
    Learned,
    LearnedBias,
    Positions,
    Relative,
    Rotary,
    SelectedHeads,
    Sinusoidal,
    T5Bias,
    alibi_slopes,
    relative_position_bucket,
    sinusoid,
)
from regard.model.register import register_position_scheme
from regard.model.taps import alter, attention_path, named_taps, record
from tests.model.conftest import SCHEMES, V, make, positions

AT = torch.arange(7)[None]


@pytest.mark.parametrize("base", [10_000.0, 100.0])
def test_rotary_multiplies_complex_numbers(base: float):
    q = torch.randn(2, 3, 7, 10, dtype=torch.double)
    at = torch.randint(100, (2, 7))
    rotary = Rotary(8, base, interleaved=True)
    angles = at[:, None, :, None] / base ** (2 * torch.arange(4).double() / 8)
    pairs = torch.view_as_complex(q[..., :8].unflatten(-1, (4, 2)).contiguous())
    expected = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    assert_close(rotary.rotate(q, at), torch.cat((expected, q[..., 8:]), dim=-1))
    assert_close(rotary.rotate(q[..., :8], at), expected)


def test_sinusoids_are_exact_far_away():
    for p in (1, 4_999, 100_003):
        expected = [f(p / 10_000 ** (t / 31)) for t in range(0, 31, 2) for f in (math.sin, math.cos)][:31]
        assert_close(sinusoid(torch.tensor([p]), 31)[0], torch.tensor(expected, dtype=torch.double), rtol=0, atol=1e-9)


@pytest.mark.parametrize("halves", [False, True])
def test_a_cache_of_sinusoids_is_only_a_cache(halves: bool):
    scheme, x = Sinusoidal(11, precomputed_length=7, halves=halves), torch.zeros(1, 7, 11)
    for at in (AT, AT + 1, AT - 1):
        assert_close(scheme.embed(x, at), sinusoid(at, 11, halves=halves).float())


@pytest.mark.parametrize("heads", [3, 4, 5, 8])
def test_two_sided_alibi_has_each_slope_on_both_sides(heads: int):
    left = -(-heads // 2)
    bias = ALiBi(heads, two_sided=True).bias(torch.zeros(1, heads, 7, 5), AT, AT)[0]
    assert bias.shape == (heads, 7, 7)
    slopes = alibi_slopes(left)
    for h in range(heads):
        backward, slope = (h < left), slopes[h % left]
        assert_close(bias[h, 3, 1 if backward else 5], torch.tensor(-2 * slope))
        assert float(bias[h, 3, 5 if backward else 1]) < -1e30
        assert torch.isfinite(bias[h] + bias[h]).all()
    assert bias.new_tensor(slopes).diff().lt(0).all() or left == 3  # for no power of two they interleave


def test_a_bucket_is_shared_by_logarithm():
    """Every distance falls where the formula of the paper, written out, puts it."""
    for bidirectional in (False, True):
        for distance in range(-40, 41):
            half = 16 if bidirectional else 32
            start = half if bidirectional and distance > 0 else 0
            far = abs(distance) if bidirectional else max(0, -distance)
            exact = half // 2
            if far >= exact:
                far = min(half - 1, exact + int(math.log(far / exact) / math.log(128 / exact) * (half - exact)))
            found = relative_position_bucket(torch.tensor([distance]), 32, 128, bidirectional=bidirectional)
            assert found.tolist() == [start + far], distance


def test_tables_of_distances_begin_as_they_should_and_hold_no_more_than_they_need():
    learned, bias, t5 = Learned(101, 103), LearnedBias(3, 11), T5Bias(64, 128, 200, bidirectional=True)
    relative = Relative(53, 7, values=True)
    assert {name: tuple(p.shape) for name, p in relative.named_parameters()} == {"keys": (15, 53), "values": (15, 53)}
    assert bias.table.shape == (3, 21) and not bias.table.any()
    assert float(learned.table.detach().std()) == pytest.approx(0.02, rel=0.05)
    assert float(t5.table.detach().std()) == pytest.approx(0.1, rel=0.05)
    bound = math.sqrt(6 / (15 + 53))
    for table in (relative.keys, relative.values):
        assert 0.9 * bound < float(table.detach().abs().max()) <= bound
    for nothing_learned in (ALiBi(4), Sinusoidal(8), Rotary(8)):
        assert not nothing_learned.state_dict()


def test_the_limits_of_tables_are_known_before_they_are_reached():
    assert Learned(5, 11).limit == LearnedBias(3, 11).limit == 11
    assert Concatenated(5, Learned(5, 11, offset=3)).limit == 11
    assert Concatenated(5, Learned(5, 11, offset=3)).offset == 3
    assert SelectedHeads(LearnedBias(3, 11), [1]).limit == 11
    assert Positions().limit > 1 << 60


def test_a_bias_refuses_distances_to_the_left_as_to_the_right():
    bias, here = LearnedBias(2, 6), torch.tensor([[6]])
    for query, key, fits in ((here, here - 5, True), (here, here - 6, False), (here - 6, here, False)):
        if fits:
            assert bias.bias(torch.zeros(1, 2, 1, 5), query, key).shape == (1, 2, 1, 1)
        else:
            with pytest.raises(ModelError, match=r"6 positions apart: .* up to a distance of 5 .*length=6"):
                bias.bias(torch.zeros(1, 2, 1, 5), query, key)


def test_a_learned_table_refuses_negative_positions():
    Learned(5, 7).embed(torch.zeros(1, 7, 5), AT)
    with pytest.raises(ModelError, match="too long"):
        Learned(5, 7).embed(torch.zeros(1, 7, 5), AT - 1)


@pytest.mark.parametrize("name", SCHEMES)
def test_a_pruned_model_is_the_whole_one_without_those_heads(name: str, ids):
    pruned_heads = {"encoder.1.self": [0], "decoder.0.self": [1, 2], "decoder.2.self": [0], "decoder.1.cross": [2]}
    settings = {"dim": 24, "heads": 4, "positions": positions(name)}
    whole = make(**settings)
    for parameter in whole.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    pruned = make(**settings, pruned=tuple(f"{a}.{h}" for a, heads in pruned_heads.items() for h in heads))
    tensors = {key: tensor.clone() for key, tensor in weights.tensors_of(whole).items()}
    gates, modules = {}, dict(pruned.named_modules())
    for attention, heads in pruned_heads.items():
        path, kept = attention_path(attention), [h for h in range(4) if h not in heads]
        module = modules[path]
        assert isinstance(module, Attention) and module.head_ids == tuple(kept)
        rows = torch.cat([torch.arange(6) + 6 * h for h in kept])
        for projection in ("q_proj", "k_proj", "v_proj"):
            for part in ("weight", "bias"):
                tensors[f"{path}.{projection}.{part}"] = tensors[f"{path}.{projection}.{part}"][rows]
        tensors[f"{path}.out_proj.weight"] = tensors[f"{path}.out_proj.weight"][:, rows]
        gate = torch.tensor([float(h in kept) for h in range(4)], dtype=torch.double)[:, None, None]
        gates[f"{path}.head_outputs"] = lambda x, gate=gate: x * gate
    for name in weights.tensors_of(pruned).keys() - tensors.keys():
        tensors[name] = tensors.pop(name.replace(".scheme", ""))
    weights.load_into(pruned, tensors, "here")
    source, target = ids(2, 7), ids(2, 5)
    with alter(whole, gates):
        expected = whole(source, target)
    assert_close(pruned(source, target), expected)
    assert not torch.allclose(whole(source, target), expected)


def test_a_scheme_of_selected_heads_still_rotates_and_adds_to_values(registries):
    class Odd(Positions):
        by_head, adds_to_values = True, True

        def rotate(self, q: Tensor, position_ids: Tensor) -> Tensor:
            return q * (position_ids[:, None, :, None] + 1)

        def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
            return torch.arange(3.0)[None, :, None, None].expand(1, -1, q.shape[2], k_position_ids.shape[1])

        def value_bias(self, weights: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
            return weights.sum(-1, keepdim=True) * q_position_ids[:, None, :, None] - k_position_ids.max()

    selected, q = SelectedHeads(Odd(), (2, 0)), torch.randn(2, 2, 7, 5)
    assert selected.adds_to_values
    assert_close(selected.rotate(q, AT), q * (AT[0, :, None] + 1))
    assert selected.bias(q, AT, AT[:, :3]).shape == (1, 2, 7, 3)
    assert selected.bias(q, AT, AT)[0, :, 0, 0].tolist() == [2.0, 0.0]
    assert_close(selected.value_bias(q, AT, AT[:, :5])[..., 0], q.sum(-1) * AT - 4)
    with pytest.raises(NotImplementedError):
        Positions().value_bias(q, AT, AT)


def test_every_layer_has_a_scheme_of_its_own_unless_asked(registries):
    @register_position_scheme("own")
    class Own(Positions):
        def __init__(self, shape: object, config: object):
            super().__init__()

        def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> None:
            return None

    model = make(positions={"kind": "own"})
    first, second = (layer.self_attn.positions for layer in model.encoder.layers)
    assert first is not second


def test_the_stacks_that_stand_alone_have_the_positions_of_their_side(ids):
    c = ModelConfig(
        dim=22,
        heads=2,
        ffn=13,
        layers=2,
        positions=positions("none"),
        encoder={"positions": positions("learned")},
        decoder={"positions": positions("bias")},
    )
    encoder, decoder = build_encoder(c, V, PAD), build_decoder(c, V, PAD)
    assert isinstance(encoder.encoder.embedding.positions, Learned)
    assert type(encoder.encoder.layers[0].self_attn.positions) is Positions
    assert type(decoder.decoder.embedding.positions) is Positions
    assert isinstance(decoder.decoder.layers[0].self_attn.positions, LearnedBias)


@pytest.mark.parametrize("build_stack", [build_encoder, build_decoder])
def test_the_positions_that_a_stack_is_given_are_those_that_it_uses(build_stack, ids):
    c = ModelConfig(dim=22, heads=2, ffn=13, layers=2, positions=positions("learned"))
    model, text = build_stack(c, V, PAD).double().eval(), ids(2, 7)
    assert_close(model(text, position_ids=AT), model(text))
    assert not torch.allclose(model(text, position_ids=AT + 3), model(text))
    table = next(m for m in model.modules() if isinstance(m, Learned)).table
    table.data.copy_(table.roll(-3, 0))
    moved = model(text)
    table.data.copy_(table.roll(3, 0))
    assert_close(model(text, position_ids=AT + 3), moved)


@pytest.mark.parametrize("attention", ["softmax", "argmax"])
def test_hard_attention_has_one_weight_and_softmax_has_many(attention: str, ids):
    model = make(attention=attention)
    with record(model, "*.weights") as seen:
        model(ids(2, 7), ids(2, 5))
    assert len(seen) == 2 + 2 * 3
    for name, tensor in seen.items():
        largest = tensor.amax(-1)
        assert bool((largest == 1).all()) == (attention == "argmax"), name
        assert_close(tensor.sum(-1), torch.ones_like(largest))


def test_weights_begin_as_they_should():
    model = build(
        ModelConfig(dim=96, heads=4, ffn=61, encoder_layers=1, decoder_layers=1), 997, 991, joint=False, pad=PAD
    )
    for table in (model.encoder.embedding.tokens.weight, model.decoder.embedding.tokens.weight):
        assert float(table.detach().std()) == pytest.approx(96**-0.5, rel=0.02)
        assert float(table.detach().mean()) == pytest.approx(0, abs=0.001)
    for name, parameter in model.named_parameters():
        value = parameter.detach()
        if name.endswith("bias"):
            assert not value.any(), name
        elif "norm" in name or "residual" in name:
            assert bool((value == 1).all()), name
        elif "_proj" in name or "feed_forward" in name:
            bound = math.sqrt(6 / sum(value.shape))
            assert 0.98 * bound < float(value.abs().max()) <= bound, name


def test_masks_hide_padding_and_the_future():
    ids = torch.tensor([[5, 6, PAD], [7, PAD, PAD]])
    assert padding_mask(ids, PAD).tolist() == [[[[True, True, False]]], [[[True, False, False]]]]
    causal = causal_padding_mask(ids, PAD)
    assert causal.shape == (2, 1, 3, 3)
    assert causal[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]


@pytest.mark.parametrize("training", [False, True])
def test_a_model_leaves_training_for_a_while(training: bool):
    model = make().train(training)
    modules = list(model.modules())
    with evaluation_mode(model):
        assert not any(module.training for module in modules)
    assert all(module.training == training for module in modules)
    with pytest.raises(KeyError), evaluation_mode(model):
        raise KeyError
    assert all(module.training == training for module in modules)
    assert device_of(model) == torch.device("cpu")


def test_a_mean_of_files_has_all_their_tensors(tmp_path):
    models = [make() for _ in range(3)]
    files = [tmp_path / str(i) for i in range(3)]
    for model, file in zip(models, files, strict=True):
        weights.write({name: tensor.float() for name, tensor in weights.tensors_of(model).items()}, file)
    mean = weights.average_weights(files)
    assert mean.keys() == weights.tensors_of(models[0]).keys()
    for name, tensor in mean.items():
        assert tensor.dtype == torch.float32
        assert_close(tensor, torch.stack([weights.tensors_of(m)[name] for m in models]).mean(0).float())


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_file_of_weights_may_be_read_by_those_that_the_umask_allows(tmp_path, mask: int):
    before = os.umask(mask)
    try:
        weights.write({"a": torch.zeros(3)}, tmp_path / "w")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "w").stat().st_mode) == 0o666 & ~mask


def test_a_disk_that_fails_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match=r".+"):
        weights.write({"a": torch.zeros(3)}, tmp_path / "no" / "w")


def test_what_is_altered_is_passed_on_and_later_no_longer(ids):
    model, source, target = make(), ids(2, 7), ids(2, 5)
    plain = model(source, target)
    with alter(model, {"encoder.embed": lambda x: 2 * x}):
        assert named_taps(model)["encoder.embed"].is_hooked
        assert not torch.allclose(model(source, target), plain)
    assert torch.equal(model(source, target), plain)
    assert not any(tap.is_hooked for tap in named_taps(model).values())
    message = r"no tap matches encoder.nothing; available: .*encoder.embed"
    with pytest.raises(ModelError, match=message), alter(model, {"encoder.nothing": lambda x: x}):
        pass


def test_dropout_of_each_kind_acts_where_its_name_says(ids):
    quiet = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "word_dropout": 0.0}
    source, target = ids(2, 7), ids(2, 5)
    for kind in quiet:
        for activation in ("relu", "swiglu"):
            model = make(**{**quiet, kind: 0.5, "activation": activation})
            still = model(source, target)
            model.train()
            assert not torch.allclose(model(source, target), still), kind
            model = make(**{**quiet, "activation": activation})
            assert torch.equal(model(source, target), model.train()(source, target))
