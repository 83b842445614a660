"""What is done to heads, and what is read from them, by explicit loops: ablation, gates, permutation, alignment."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.config import Head
from regard.errors import ModelError
from regard.inspection.flow.decompose import TERM_NAMES, ScoreTerms
from regard.inspection.heads import alignment, copying, faithfulness, importance
from regard.inspection.heads.statistics import spearman
from regard.inspection.pruning import gates
from regard.inspection.pruning.order import copy_pruned_weights, mask_heads, prune_by_importance
from regard.inspection.trace import attention_sites, attention_weights, trace_forward
from regard.model.taps import alter
from tests.inspection.conftest import config_of, example_of, model_of


@pytest.fixture
def model():
    return model_of(config_of({"kind": "sinusoidal"})).double()


def site_of(model, name: str):
    return next(site for site in attention_sites(model) if site.name == name)


def plain_loss(model, example) -> float:
    """-log p of a target sentence, token by token."""
    with torch.no_grad():
        inputs = (torch.tensor([side.ids]) for side in (example.source, example.decoder_input))
        probabilities = model.output(model(*inputs))[0].softmax(-1)
    return -sum(math.log(row[i]) for row, i in zip(probabilities.tolist(), example.target.ids, strict=True))


def test_losses_are_those_of_single_sentences_in_their_order(model, examples):
    expected = [plain_loss(model, example) for example in examples]
    assert importance.loss_by_sentence(model, examples) == pytest.approx(expected)
    assert importance.sentence_losses(model, examples).tolist() == pytest.approx(expected)
    assert importance.count_target_tokens(examples).tolist() == [len(example.target) for example in examples]


@pytest.mark.parametrize("ablation", ["zero", "mean", "resample"])
def test_an_ablated_head_has_the_output_that_is_said(ablation):
    torch.manual_seed(3)
    outputs, mean, lengths, h = torch.randn(3, 4, 7, 5), torch.randn(4, 11, 5), [7, 3, 5], 2
    found = importance._head_ablation(ablation, h, lengths, mean)(outputs)
    for b, head, t in itertools.product(range(3), range(4), range(7)):
        donor = (b + 1) % 3
        expected = {
            "zero": torch.zeros(5),
            "mean": mean[h, t],
            "resample": outputs[donor, h, t % lengths[donor]],
        }[ablation]
        assert torch.equal(found[b, head, t], expected if head == h else outputs[b, head, t])


def test_means_of_heads_are_those_of_the_sentences_that_are_long_enough(model, examples):
    found = importance.mean_head_outputs(model, examples)
    traces = [trace_forward(model, example) for example in examples]
    for name, mean in found.items():
        outputs = [trace.attentions[name].head_outputs for trace in traces]
        assert mean.shape == (3, max(one.shape[1] for one in outputs), 8)
        for t in range(mean.shape[1]):
            there = [one[:, t] for one in outputs if one.shape[1] > t]
            assert_close(mean[:, t], sum(there) / len(there))


@pytest.mark.parametrize("ablation", ["zero", "mean", "resample"])
def test_costs_are_losses_with_the_head_ablated_by_hand(ablation, model, examples):
    head = Head.parse("encoder.1.self.2")
    (cost,) = importance.ablate_heads(model, examples, [head], ablation)
    mean = importance.mean_head_outputs(model, examples)["encoder.1.self"]
    order = sorted(range(5), key=lambda i: len(examples[i].source))
    own = [trace_forward(model, example).attentions["encoder.1.self"].head_outputs for example in examples]
    losses = 0.0
    for place, i in enumerate(order):
        donor = own[order[(place + 1) % 5]][2]
        length = len(examples[i].source)
        new = {
            "zero": torch.zeros(length, 8).double(),
            "mean": mean[2, :length],
            "resample": donor[torch.arange(length) % len(donor)],
        }[ablation]

        def put(outputs, new=new):
            changed = outputs.clone()
            changed[0, 2] = new
            return changed

        with alter(model, {"encoder.layers.1.self_attn.head_outputs": put}):
            losses += plain_loss(model, examples[i])
    full = sum(plain_loss(model, example) for example in examples)
    assert cost.cost == pytest.approx((losses - full) / sum(len(e.target) for e in examples), abs=1e-9)
    assert cost.head == head and cost.ablation == ablation


def test_costs_are_told_for_all_heads_or_for_those_asked_for(model, examples):
    every = importance.ablate_heads(model, examples[:2])
    assert [cost.head for cost in every] == [head for site in attention_sites(model) for head in site.heads]
    asked = [every[7].head, every[2].head]
    some = importance.ablate_heads(model, examples[:2], asked)
    assert [(cost.head, cost.cost) for cost in some] == [(every[n].head, pytest.approx(every[n].cost)) for n in (7, 2)]
    (alone,) = importance.ablate_all_but_one(model, examples[:2], asked[:1])
    assert alone.ablation == "keep_only" and alone.head == asked[0]
    with pytest.raises(ModelError, match="unknown ablation 'half'; choose one of zero, mean, resample"):
        importance.ablate_heads(model, examples, ablation="half")
    importance.ablate_heads(model, examples[:2], asked[:1], "resample")  # two sentences are enough


def test_masked_heads_have_no_importance_and_the_others_that_without_them(model, examples):
    masked = [Head.parse("encoder.0.self.1"), Head.parse("decoder.1.cross.0")]
    found = importance.head_importance(model, examples[:2], masked, normalize_by_layer=False)
    assert [head for head, value in found.items() if value == 0] == masked
    site, step = site_of(model, "decoder.0.self"), 1e-5
    slopes = []
    for example in examples[:2]:
        losses = []
        for change in (step, -step):
            gate = torch.tensor([1.0, 1.0 + change, 1.0], dtype=torch.float64)
            with alter(model, mask_heads(model, masked) | importance.gate_heads(site, gate)):
                losses.append(plain_loss(model, example) / len(example.target))
        slopes.append(abs(losses[0] - losses[1]) / (2 * step))
    assert found[site.heads[1]] == pytest.approx(sum(slopes) / 2, rel=1e-5)
    normalized = importance.head_importance(model, examples[:2], masked)
    for layer in {head[:2] for head in found}:
        size = math.sqrt(sum(value**2 for head, value in found.items() if head[:2] == layer))
        for head in found:
            if head[:2] == layer:
                assert normalized[head] == pytest.approx(found[head] / size)


def test_a_layer_without_any_importance_has_none(model, examples):
    whole = [head for site in attention_sites(model) if site.name == "encoder.0.self" for head in site.heads]
    assert {importance.head_importance(model, examples[:1], whole)[head] for head in whole} == {0}


def test_a_first_step_of_gates_goes_against_the_gradient(model, examples):
    """The first step of Adam has the size of the learning rate and the sign of the gradient."""
    shut = gates.learn_gates(model, examples, 1, 1000.0)
    assert list(shut.values()) == pytest.approx([gates.INITIAL_LOG_ALPHA - 0.1] * 18, abs=1e-4)
    assert list(gates.learn_gates(model, examples, 1, -1000.0, 0.05).values()) == pytest.approx([2.05] * 18, abs=1e-4)
    few, sites = examples[:2], attention_sites(model)
    generator = torch.Generator().manual_seed(7)
    batch = [few[i] for i in torch.randperm(2, generator=generator).tolist()]
    alphas = [torch.full((3,), gates.INITIAL_LOG_ALPHA, requires_grad=True) for _ in sites]
    interventions = {}
    for site, alpha in zip(sites, alphas, strict=True):
        u = torch.rand(3, generator=generator)
        interventions |= importance.gate_heads(site, gates.sample_hard_concrete(alpha, u))
    with alter(model, interventions):
        loss = importance.sentence_losses(model, batch).sum() / sum(len(example.target) for example in batch)
    opened = sum(gates.open_probability(alpha).sum() for alpha in alphas)
    of_loss = torch.cat(torch.autograd.grad(loss, alphas, retain_graph=True))
    of_open = torch.cat(torch.autograd.grad(opened, alphas))
    helpful = of_loss[of_loss < 0].sort().values  # a penalty that outweighs half of what one of them saves, not all
    penalty = float(-0.75 * helpful[len(helpful) // 2] / of_open[0])
    gradients = of_loss + penalty * of_open
    found = gates.learn_gates(model, few, 1, penalty, seed=7)
    expected = gates.INITIAL_LOG_ALPHA - 0.1 * gradients / (gradients.abs() + 1e-8)
    assert list(found.values()) == pytest.approx(expected.tolist(), abs=1e-4)
    assert list(found) == [head for site in sites for head in site.heads] and len(set(gradients.sign().tolist())) > 1


def test_batches_for_gates_are_drawn_without_repetition():
    many = [example_of([5], [n]) for n in range(4, 27)]
    one, two = (gates._sample_batch(many, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    ids = [[example.target.ids[0] for example in batch] for batch in (one, two)]
    assert len(set(ids[0])) == len(set(ids[1])) == 16 and ids[0] != ids[1]
    assert len(gates._sample_batch(many[:3], torch.Generator().manual_seed(1))) == 3


def test_uniform_noise_at_its_ends_gives_gates_that_are_shut_or_open():
    alpha, u = torch.tensor([-1.0, 0.3, 2.0]).double(), torch.tensor([0.2, 0.5, 0.9]).double()
    for a, b, found in zip(alpha.tolist(), u.tolist(), gates.sample_hard_concrete(alpha, u).tolist(), strict=True):
        s = 1 / (1 + math.exp(-(math.log(b) - math.log(1 - b) + a) / 0.33))
        assert found == pytest.approx(min(1, max(0, s * 1.2 - 0.1)))


def test_a_stage_has_the_loss_without_its_heads(model, examples):
    stages = list(prune_by_importance(model, examples, 14))
    for stage in stages:
        with alter(model, mask_heads(model, stage.pruned_heads)):
            loss = sum(plain_loss(model, example) for example in examples)
        assert stage.loss == pytest.approx(loss / sum(len(example.target) for example in examples))
        assert stage.num_heads + len(stage.pruned_heads) == 18
    assert mask_heads(model, []) == {}
    (one,) = mask_heads(model, [Head.parse("decoder.1.self.2")])
    assert one == "decoder.layers.1.self_attn.head_outputs"


def test_a_pruned_model_has_the_rows_that_are_left():
    pruned = ("encoder.0.self.1", "decoder.1.cross.0", "decoder.1.cross.2")
    whole, less = (model_of(config_of({"kind": "sinusoidal"}, pruned=heads)) for heads in ((), pruned))
    copy_pruned_weights(whole, less)
    left = {"encoder.0.self": [0, 2], "decoder.1.cross": [1]}
    for one, two in zip(attention_sites(whole), attention_sites(less), strict=True):
        rows = [h * 8 + k for h in left.get(one.name, range(3)) for k in range(8)]
        for name in ("q_proj", "k_proj", "v_proj"):
            for part in ("weight", "bias"):
                old, new = (getattr(getattr(site.attention, name), part) for site in (one, two))
                assert torch.equal(new, old[rows]), (one.name, name, part)
        assert torch.equal(two.attention.out_proj.weight, one.attention.out_proj.weight[:, rows])
        assert torch.equal(two.attention.out_proj.bias, one.attention.out_proj.bias)


def test_permuted_weights_change_probabilities_by_half_of_their_distance(model, examples, monkeypatch):
    name, h = "decoder.1.cross", 1
    with torch.no_grad():
        site_of(model, name).attention.v_proj.weight.mul_(5)
    attn = trace_forward(model, examples[3]).attentions[name]
    inputs = [torch.tensor([side.ids]) for side in (examples[3].source, examples[3].decoder_input)]

    def probabilities(change=None):
        with torch.no_grad(), alter(model, {} if change is None else {f"{attn.site.path}.weights": change}):
            return model.output(model(*inputs))[0].softmax(-1)

    before, distances = probabilities(), []
    for permutation in faithfulness.random_permutations(attn.attn_mask, 7):

        def permute(weights, permutation=permutation):
            new = weights.clone()
            for i, row in enumerate(permutation.tolist()):
                new[0, h, i] = weights[0, h, i, row]
            return new

        rows = (probabilities(permute) - before).abs().sum(-1) / 2
        distances.append(float(rows.mean()))
    found = faithfulness.perturb_heads(model, examples[3], attn)
    assert found[h].permutation_tvd == pytest.approx(sorted(distances)[3]) and distances[3] > 1e-4
    assert len(found) == 3
    monkeypatch.setattr(faithfulness, "MAX_PROBABILITIES", 2 * 47 * len(examples[3].target))  # room for two
    two = faithfulness.perturb_heads(model, examples[3], attn)[h]
    assert two.permutation_tvd == pytest.approx(sum(distances[:2]) / 2)
    monkeypatch.setattr(faithfulness, "MAX_PROBABILITIES", 1)  # one is always tried
    assert faithfulness.perturb_heads(model, examples[3], attn)[h].permutation_tvd == pytest.approx(distances[0])


def test_positions_alone_would_attend_as_their_terms_say():
    torch.manual_seed(5)
    terms, mask = torch.randn(2, len(TERM_NAMES), 4, 5).double(), torch.ones(2, 4, 5).bool()
    mask[:, 0, 1:] = mask[1, 2, 3:] = False  # the first row has one key
    weights = torch.randn(2, 4, 5).double().masked_fill(~mask, -torch.inf).softmax(-1)
    attn = trace_forward(model_of(config_of({"kind": "none"})), example_of([5], [6])).attentions["encoder.0.self"]
    score_terms = ScoreTerms({}, terms, mask, known_queries=4, known_keys=5)
    found = faithfulness.position_divergence(replace(attn, weights=weights), score_terms)
    for h in range(2):
        scores = terms[h, TERM_NAMES.index("position·position")] + terms[h, TERM_NAMES.index("distance")]
        own = scores.masked_fill(~mask[h], -torch.inf).softmax(-1)
        rows = [float(faithfulness.jensen_shannon(weights[h, i], own[i])) for i in (1, 2, 3)]
        assert found[h] == pytest.approx(sum(rows) / 3)


def test_a_rank_correlation_is_a_mean_over_rows_with_two_keys():
    rng = np.random.default_rng(3)
    a, b = (torch.from_numpy(rng.random((5, 5))) for _ in range(2))
    causal = torch.ones(5, 5).tril().bool()
    a[3] = 0.2  # a constant row has no rank
    rows = [spearman(a[i, : i + 1].numpy(), b[i, : i + 1].numpy()) for i in (1, 2, 4)]
    assert faithfulness.rank_correlation(a, b, causal) == pytest.approx(sum(rows) / 3)
    assert faithfulness.has_choice(causal).tolist() == [False, True, True, True, True]


def test_a_penalty_is_nought_for_one_to_one_and_has_its_formula():
    torch.manual_seed(3)
    weights = torch.randn(5, 3).double().softmax(-1)
    coverage = [-math.log(1 + abs(1 - float(weights[:, j].sum())) ** 6) for j in range(3)]
    spread = [sum(w * math.log(w) for w in row) for row in weights.tolist()]
    assert alignment.alignment_penalty(weights) == pytest.approx(-(sum(coverage) / 3 + sum(spread) / 5))
    assert alignment.alignment_penalty(torch.eye(7)) == 0 and alignment.alignment_penalty(torch.zeros(0, 3)) == 0


def test_heads_are_ranked_and_averaged_as_aligners(model, examples):
    gold = [replace(example, alignment=((0, 0), (1, 2)), possible_alignment=((2, 1),)) for example in examples]
    gold[1] = replace(gold[1], alignment=None, possible_alignment=())  # its links are not judged
    ranking = alignment.rank_alignment_heads(model, gold)
    heads = [head for site in attention_sites(model) if site.kind == "cross" for head in site.heads]
    weights = attention_weights(model, gold)
    words = {
        head: [
            alignment.merge_subwords(one[head.attention_name][head.number].float(), example.target, example.source)
            for one, example in zip(weights, gold, strict=True)
        ]
        for head in heads
    }
    words["mean"] = [sum(words[head][n] for head in heads) / len(heads) for n in range(len(gold))]
    for head, found in {**ranking.heads, "mean": ranking.average}.items():
        links = [{(int(row.argmax()), t) for t, row in enumerate(one)} for one in words[head]]
        assert [set(one) for one in found.links] == links or head == "mean"
        judged = [n for n in range(5) if n != 1]
        assert found.counts.links == sum(len(found.links[n]) for n in judged) and found.counts.sure_links == 8
        assert found.counts.sure_matches == sum(len(found.links[n] & {(0, 0), (1, 2)}) for n in judged)
        assert found.counts.possible_matches == sum(len(found.links[n] & {(0, 0), (1, 2), (2, 1)}) for n in judged)
        penalties = [alignment.alignment_penalty(one) for one in words[head]]
        assert found.penalty == pytest.approx(sum(penalties) / 5, rel=1e-4)
    rates = [found.counts.aer for found in ranking.heads.values()]
    assert rates == sorted(rates) and ranking.judged_by_gold and set(ranking.heads) == set(heads)
    best, second = list(ranking.heads.items())[:2]
    assert ranking.best == best and ranking.best_without(()) == best and ranking.best_without([best[0]]) == second
    assert alignment.AlignmentRanking({best[0]: best[1]}, best[1], True).best_without([best[0]]) is None
    assert alignment.has_gold([replace(examples[0], possible_alignment=((0, 0),))]) and not alignment.has_gold([])


@torch.no_grad()
@pytest.mark.parametrize("name", ["encoder.1.self", "decoder.0.self", "decoder.1.cross"])
def test_a_copying_score_is_that_of_the_large_matrix_of_tokens(name, model):
    """Σ Re λ / Σ |λ| of W_E W_V W_O W_U, a matrix of the size of the vocabulary."""
    site = site_of(model, name)
    stack = model.decoder if site.kind == "decoder" else model.encoder
    found = copying.ov_copying_scores(model, site, joint_vocab=True)
    assert len(found) == 3
    for h, score in enumerate(found):
        rows = slice(8 * h, 8 * h + 8)
        circuit = site.attention.v_proj.weight[rows].T @ site.attention.out_proj.weight[:, rows].T
        eigenvalues = torch.linalg.eigvals(stack.embedding.tokens.weight @ circuit @ model.output.weight.T)
        assert score == pytest.approx(float(eigenvalues.real.sum() / eigenvalues.abs().sum()), abs=1e-6)
    assert all(math.isnan(value) for value in copying.ov_copying_scores(model, site, False)) == (site.kind != "decoder")
    highest = copying.max_random_copying(model, site, joint_vocab=True)
    assert 0.3 < highest < 1 and highest == copying.max_random_copying(model, site, True, seed=1)
    assert highest != copying.max_random_copying(model, site, True, seed=2)
    assert (copying.max_random_copying(model, site, False) == math.inf) == (site.kind != "decoder")
