"""Head importance, ablation and pruning."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.config import Head, ModelConfig
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import DataError, ModelError
from regard.inspection.heads.copying import ov_copying_scores
from regard.inspection.heads.importance import (
    ablate_all_but_one,
    ablate_heads,
    count_target_tokens,
    estimate_cost,
    gate_heads,
    head_importance,
    loss_by_sentence,
    mean_head_outputs,
    sentence_losses,
)
from regard.inspection.pruning import gates
from regard.inspection.pruning.order import (
    copy_pruned_weights,
    mask_heads,
    parse_head_count,
    prune_by_gates,
    prune_by_importance,
)
from regard.inspection.trace import attention_sites, attention_weights, batch_by_length, model_inputs
from regard.model.build import build, build_encoder
from regard.model.modules import count_parameters
from regard.model.taps import alter
from regard.runtime.incremental import IncrementalDecoder
from regard.runtime.padding_free import PaddingFreeForward
from regard.training.planning.cost import MeanLengths, compute_parameter_counts, training_flops
from tests.inspection.conftest import SIZE, config_of, model_of

SOME = ("encoder.0.self.1", "encoder.1.self.0", "encoder.1.self.2", "decoder.0.cross.0", "decoder.1.self.2")


def kill(model, name: str) -> None:
    """Set the output of a head to zero."""
    head = Head.parse(name)
    site = next(site for site in attention_sites(model) if site.name == head.attention_name)
    width = site.attention.head_dim
    with torch.no_grad():
        site.attention.out_proj.weight[:, head.number * width : (head.number + 1) * width] = 0


@pytest.fixture
def model(positions):
    return model_of(config_of(positions)).double()


def test_importance_is_the_slope_of_the_loss_along_a_gate(examples):
    model = model_of(config_of({"kind": "sinusoidal"})).double()
    site, step = attention_sites(model)[1], 1e-5
    one = examples[:1]

    def loss(change: float) -> float:
        gate = torch.ones(3, dtype=torch.float64)
        gate[1] += change
        with torch.no_grad(), alter(model, gate_heads(site, gate)):
            return float(sentence_losses(model, one)[0]) / count_target_tokens(one)[0]

    slopes = [abs(loss(step) - loss(-step)) / (2 * step)]
    importances = head_importance(model, one)
    for layer in ("encoder.0.", "encoder.1.", "decoder.0.", "decoder.1."):
        assert math.hypot(
            *(value for head, value in importances.items() if str(head).startswith(layer))
        ) == pytest.approx(1)
    others = []
    for h in range(3):
        gate = torch.ones(1, 3, dtype=torch.float64, requires_grad=True)
        with alter(model, gate_heads(site, gate)):
            (gradient,) = torch.autograd.grad(sentence_losses(model, one).sum() / count_target_tokens(one)[0], gate)
        others.append(abs(float(gradient[0, h])))
    assert others[1] == pytest.approx(slopes[0], rel=1e-6)
    assert importances[site.heads[1]] == pytest.approx(others[1] / math.hypot(*others), rel=1e-6)


def test_a_dead_head_is_worth_nothing_and_costs_nothing(examples, positions):
    model = model_of(config_of(positions))
    kill(model, "decoder.1.cross.2")
    dead = Head.parse("decoder.1.cross.2")
    assert head_importance(model, examples)[dead] == 0
    for ablation in ("zero", "mean", "resample"):
        (cost,) = ablate_heads(model, examples, [dead], ablation)
        assert (cost.cost, cost.low, cost.high) == (0, None, None)
    (cost,) = ablate_heads(model, [*examples, *examples], [dead])
    assert (cost.cost, cost.low, cost.high) == (0, 0, 0)


def test_importance_knows_neither_batches_nor_how_often_it_reads(examples):
    model = model_of(config_of({"kind": "rotary"})).double()
    once, twice = head_importance(model, examples), head_importance(model, [*examples, *examples])
    assert once == pytest.approx(twice, rel=1e-9)
    per_sentence = [head_importance(model, [example], normalize_by_layer=False) for example in examples]
    mean = {
        head: sum(one[head] for one in per_sentence) / len(per_sentence) for head in once
    }  # absolute before the mean
    assert head_importance(model, examples, normalize_by_layer=False) == pytest.approx(mean, rel=1e-9)


def test_a_head_that_is_taken_away_changes_the_loss_by_what_is_told(examples):
    model, examples = model_of(config_of({"kind": "sinusoidal"})).double(), [*examples, *examples]
    head = Head.parse("decoder.0.cross.1")
    (cost,) = ablate_heads(model, examples, [head])
    ablated_losses = loss_by_sentence(model, examples, lambda _: mask_heads(model, [head]))
    expected = (ablated_losses - loss_by_sentence(model, examples)).sum() / count_target_tokens(examples).sum()
    assert cost.cost == pytest.approx(expected) and cost.low <= cost.cost <= cost.high
    assert abs(cost.cost) > 1e-6


def test_copying_is_known_where_places_stand_beside_words():
    """With concatenated positions the embedding table is narrower than the residual stream."""
    model = model_of(config_of({"kind": "concatenated", "width": 6}))
    site = next(site for site in attention_sites(model) if site.name == "decoder.1.self")
    with torch.no_grad():
        site.attention.v_proj.weight[:8] = torch.eye(24)[:8]
        written = model.output.weight.T @ torch.nn.functional.pad(model.decoder.embedding.tokens.weight, (0, 6))
        site.attention.out_proj.weight[:, :8] = torch.linalg.pinv(site.attention.v_proj.weight[:8] @ written.T)
    assert ov_copying_scores(model, site, joint_vocab=True)[0] == pytest.approx(1, abs=1e-3)


def test_a_head_alone_is_a_model_without_all_others_of_its_attention(examples):
    model, examples = model_of(config_of({"kind": "sinusoidal"})).double(), [*examples, *examples]
    head = Head.parse("decoder.0.cross.1")
    (cost,) = ablate_all_but_one(model, examples, [head])
    others = [Head.parse(f"decoder.0.cross.{n}") for n in (0, 2)]
    ablated_losses = loss_by_sentence(model, examples, lambda _: mask_heads(model, others))
    expected = (ablated_losses - loss_by_sentence(model, examples)).sum() / count_target_tokens(examples).sum()
    assert cost.cost == pytest.approx(expected) and cost.low <= cost.cost <= cost.high
    for name in map(str, others):
        kill(model, name)
    (nothing,) = ablate_all_but_one(model, examples, [head])
    assert nothing.cost == pytest.approx(0, abs=1e-12)  # the other heads had no output
    assert len(ablate_all_but_one(model, examples[:2])) == sum(site.attention.heads for site in attention_sites(model))


def test_no_sentence_is_its_own_other_sentence(examples, monkeypatch):
    """However small batches are, resampling takes the output of another sentence."""
    monkeypatch.setattr("regard.inspection.trace.BATCH_CELLS", 16)
    assert [len(rows) for rows in batch_by_length(examples)] == [1] * 5
    assert [len(rows) for rows in batch_by_length(examples, 2)] == [2, 3]
    model, head = model_of(config_of({"kind": "sinusoidal"})).double(), Head.parse("decoder.0.cross.1")
    for subset in (examples[:2], examples):
        (cost,) = ablate_heads(model, subset, [head], "resample")
        assert abs(cost.cost) > 1e-6
    with pytest.raises(DataError, match="give at least two sentences"):
        ablate_heads(model, examples[:1], [head], "resample")


def test_the_mean_of_a_head_is_taken_place_by_place_over_real_tokens(examples):
    model = model_of(config_of({"kind": "sinusoidal"})).double()
    (one,) = mean_head_outputs(model, examples[:1])["encoder.0.self"][None].unbind(0)
    assert one.shape == (3, len(examples[0].source), 8)
    both = mean_head_outputs(model, [examples[0], examples[0]])["encoder.0.self"]
    assert_close(both, one)
    (cost,) = ablate_heads(model, examples[:1], [Head.parse("encoder.0.self.1")], "mean")
    assert abs(cost.cost) < 1e-9  # the mean over one sentence


def test_an_interval_pairs_the_same_sentences():
    rng = np.random.default_rng(1)
    count = np.full(40, 7.0)
    value, low, high = estimate_cost(np.full(40, 0.7), count)
    assert (value, low, high) == pytest.approx((0.1, 0.1, 0.1))
    value, low, high = estimate_cost(rng.normal(0.7, 1, 40), count)
    assert low < value < high
    assert estimate_cost(np.array([0.1, 0.9, 0.2, 0.4]), np.full(4, 2.0)) == (pytest.approx(0.2), None, None)
    assert estimate_cost(np.full(9, 0.1), np.full(9, 2.0))[1] is None
    assert estimate_cost(np.full(10, 0.1), np.full(10, 2.0))[1] is not None


def test_pruned_equals_masked(positions, norm, examples):
    config = config_of(positions, norm=norm)
    full_model = model_of(config).double()
    pruned_model = build(config.model_copy(update={"pruned": SOME}), SIZE, SIZE, joint=True, pad=PAD).double().eval()
    copy_pruned_weights(full_model, pruned_model)
    masked_heads = [Head.parse(name) for name in SOME]
    inputs = model_inputs(full_model, examples)
    with torch.no_grad():
        with alter(full_model, mask_heads(full_model, masked_heads)):
            expected = full_model(*inputs)
        assert_close(pruned_model(*inputs), expected, rtol=0, atol=1e-12)
        assert not torch.allclose(full_model(*inputs), expected)
        packed = PaddingFreeForward(pruned_model)(*inputs)
        real = inputs[1] != PAD
        assert_close(packed, expected[real], rtol=0, atol=1e-12)


def test_a_pruned_model_decodes_step_by_step_as_it_does_at_once(positions):
    config = config_of(positions)
    full_model = model_of(config).double()
    pruned_model = build(config.model_copy(update={"pruned": SOME}), SIZE, SIZE, joint=True, pad=PAD).double().eval()
    copy_pruned_weights(full_model, pruned_model)
    source, target = torch.randint(4, SIZE, (3, 5)), torch.randint(4, SIZE, (3, 4))
    with torch.no_grad():
        decoding_batch = IncrementalDecoder(pruned_model).new_batch(1)
        decoding_batch.admit(source[:2])
        first = decoding_batch.step(target[:2, 0])
        decoding_batch.admit(source[2:])
        decoding_batch.step(torch.cat((target[:2, 1], target[2:, 0])))
        logits = decoding_batch.step(torch.cat((target[:2, 2], target[2:, 1])))
        whole_pass = pruned_model.output(pruned_model(source, target))
        assert_close(first, whole_pass[:2, 0], rtol=0, atol=1e-12)
        assert_close(logits, torch.cat((whole_pass[:2, 2], whole_pass[2:, 1])), rtol=0, atol=1e-12)


def test_the_order_of_pruning_does_not_matter_and_twice_is_as_good_as_once(positions):
    config = config_of(positions)
    full_model = model_of(config)
    at_once = build(config.model_copy(update={"pruned": SOME}), SIZE, SIZE, joint=True, pad=PAD)
    copy_pruned_weights(full_model, at_once)
    half = build(config.model_copy(update={"pruned": SOME[:2]}), SIZE, SIZE, joint=True, pad=PAD)
    copy_pruned_weights(full_model, half)
    twice = build(config.model_copy(update={"pruned": SOME[::-1]}), SIZE, SIZE, joint=True, pad=PAD)
    copy_pruned_weights(half, twice)
    for a, b in zip(at_once.parameters(), twice.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("bias", [True, False])
def test_parameters_and_operations_fall_as_computed(positions, bias):
    config = config_of(positions, bias=bias)
    pruned = config.model_copy(update={"pruned": SOME})
    counts = [count_parameters(build(c, SIZE, SIZE, joint=True, pad=PAD)) for c in (config, pruned)]
    assert counts[0] - counts[1] == len(SOME) * (4 * 24 * 8 + (3 * 8 if bias else 0))
    assert counts == [compute_parameter_counts(c, SIZE, SIZE, joint_vocab=True).total for c in (config, pruned)]
    lengths = MeanLengths(11.0, 7.0)
    saved_flops = training_flops(config, SIZE, lengths) - training_flops(pruned, SIZE, lengths)
    encoder, decoder_self = 4 * 11 * 24 * 8 + 2 * 11 * 11 * 8, 4 * 7 * 24 * 8 + 2 * 7 * 7 * 8
    cross = 2 * (11 + 7) * 24 * 8 + 2 * 11 * 7 * 8
    assert saved_flops == pytest.approx(6 * (3 * encoder + decoder_self + cross))


def test_weights_of_a_pruned_model_bear_the_names_of_what_is_left():
    config = config_of({"kind": "t5", "buckets": 8, "max_distance": 20}, pruned=SOME)
    (site,) = [site for site in attention_sites(model_of(config)) if site.name == "encoder.1.self"]
    assert [str(head) for head in site.heads] == ["encoder.1.self.1"]


def test_heads_are_shut_a_tenth_at_a_time_and_each_attention_keeps_one(examples):
    model = model_of(config_of({"kind": "sinusoidal"}))
    kill(model, "encoder.0.self.2")
    stages = list(prune_by_importance(model, examples, 1))
    assert [stage.num_heads for stage in stages][:3] == [18, 16, 14] and stages[-1].num_heads == 6
    assert Head.parse("encoder.0.self.2") in stages[1].pruned_heads  # the least important head is first
    assert all(set(a.pruned_heads) < set(b.pruned_heads) for a, b in itertools.pairwise(stages))
    assert {head.attention_name for head in stages[-1].pruned_heads} == {site.name for site in attention_sites(model)}


def test_gates_learn_to_shut_a_head_that_does_harm(examples):
    model = model_of(config_of({"kind": "sinusoidal"}))
    before = loss_by_sentence(model, examples)
    kill(model, "decoder.0.cross.1")
    alphas = gates.learn_gates(model, examples, steps=60, penalty=0.02)
    dead = Head.parse("decoder.0.cross.1")
    assert alphas[dead] < gates.INITIAL_LOG_ALPHA and alphas[dead] <= sorted(alphas.values())[len(alphas) // 2]
    order = sorted(alphas, key=alphas.__getitem__)
    stages = list(prune_by_gates(model, examples, order, 9))
    assert stages[-1].num_heads == 9 and all(p.requires_grad for p in model.parameters())
    assert before.shape == (len(examples),)


def test_gates_are_shut_open_and_between_as_published():
    alpha = torch.tensor([-9.0, 0.0, 9.0])
    assert gates.sample_hard_concrete(alpha, torch.full((3,), 0.5)).tolist() == [0, 0.5, 1]
    assert gates.open_probability(torch.tensor(0.0)) == pytest.approx(1 / (1 + (0.1 / 1.1) ** 0.33), rel=1e-5)
    u = torch.linspace(0.001, 0.999, 2001)
    closed = (gates.sample_hard_concrete(torch.tensor(-0.7), u) == 0).float().mean()
    assert float(closed) == pytest.approx(1 - float(gates.open_probability(torch.tensor(-0.7))), abs=2e-3)


def test_what_to_keep_is_a_share_or_a_number():
    assert parse_head_count("50%", 48) == 24 and parse_head_count("7", 48) == 7 and parse_head_count("33.4%", 9) == 4
    for wrong in ("0%", "101%", "49", "0", "half", "-3"):
        with pytest.raises(ModelError, match="--keep"):
            parse_head_count(wrong, 48)


def test_heads_can_copy_only_what_can_be_written():
    """Two vocabularies of the same size differ: an id is another token in each."""
    separate_vocabs = build(config_of({"kind": "sinusoidal"}), SIZE, SIZE, joint=False, pad=PAD).eval()
    for joint in (False, True):
        has_score = {
            site.name: not math.isnan(ov_copying_scores(separate_vocabs, site, joint)[0])
            for site in attention_sites(separate_vocabs)
        }
        assert has_score == {site.name: joint or site.kind == "decoder" for site in attention_sites(separate_vocabs)}


def test_heads_that_never_were_cannot_be_pruned():
    for pruned, match in (
        (("encoder.0.self.9",), "this model has no head encoder.0.self.9"),
        (("encoder.0.cross.0",), "is not the name of a head"),
        (("encoder.0",), "is not the name of a head"),
        (tuple(f"encoder.1.self.{h}" for h in range(3)), "would lose all of its heads"),
    ):
        with pytest.raises(ValueError, match=match):
            config_of({"kind": "none"}, pruned=pruned)


def test_an_encoder_alone_has_no_loss_but_weights(examples):
    config = ModelConfig(architecture="encoder", dim=24, heads=3, ffn=13, layers=2, pruned=("encoder.0.self.1",))
    model = build_encoder(config, SIZE, PAD).eval()
    with pytest.raises(ModelError, match="an encoder-only model has no loss"):
        head_importance(model, examples)
    assert [w.shape[0] for w in attention_weights(model, examples)[0].values()] == [2, 3]
