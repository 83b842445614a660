"""Faithfulness: closed forms of divergences, and heads whose weights matter or do not."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.inspection.flow import decompose
from regard.inspection.flow.attribution import attention_gradients, gradient_times_attention
from regard.inspection.heads import faithfulness
from regard.inspection.heads.importance import count_target_tokens, loss_by_sentence
from regard.inspection.heads.statistics import spearman
from regard.inspection.trace import attention_sites, trace_forward
from regard.model.taps import alter, attention_path
from tests.inspection.conftest import config_of, example_of, model_of

T, S = 7, 5


def distribution(*weights: float) -> torch.Tensor:
    return torch.tensor(weights, dtype=torch.float64)


def test_the_divergence_is_jensens_and_shannons_in_bits():
    one, other, uniform = distribution(1, 0), distribution(0, 1), distribution(0.5, 0.5)
    assert float(faithfulness.jensen_shannon(one, other)) == pytest.approx(1)  # disjoint: ln 2 nats
    assert float(faithfulness.jensen_shannon(one, one)) == 0
    # H(3/4, 1/4) - H(1/2, 1/2) / 2
    expected = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)) - 0.5
    assert float(faithfulness.jensen_shannon(one, uniform)) == pytest.approx(expected)
    assert float(faithfulness.jensen_shannon(uniform, one)) == pytest.approx(expected)


@pytest.fixture
def model():
    return model_of(config_of({"kind": "sinusoidal"})).double()


def test_heads_are_as_far_apart_as_their_rows_are(model, examples):
    attns = trace_forward(model, examples[0]).of_kind("decoder")
    divergences = faithfulness.head_divergences(attns)
    assert (
        divergences.shape == (6, 6)
        and np.array_equal(np.diag(divergences), np.zeros(6))
        and divergences == pytest.approx(divergences.T)
    )
    one, other = attns[0].weights[2], attns[1].weights[1]
    rows = [float(faithfulness.jensen_shannon(a, b)) for a, b in zip(one, other, strict=True)][
        1:
    ]  # the first has one key
    assert divergences[2, 4] == pytest.approx(sum(rows) / len(rows))
    with alter(model, {"decoder.layers.1.self_attn.weights": lambda weights: weights[:, [0, 0, 2]]}):
        assert faithfulness.head_divergences(trace_forward(model, examples[0]).of_kind("decoder"))[3, 4] == 0  # twins


def test_a_head_of_places_alone_looks_where_places_say(examples):
    model = model_of(config_of({"kind": "bias", "length": 64})).double()
    with torch.no_grad():
        for linear in (model.encoder.layers[0].self_attn.q_proj, model.encoder.layers[0].self_attn.k_proj):
            linear.weight[8:16] = 0  # head 1 ignores the content
            linear.bias[8:16] = 0
    trace = trace_forward(model, examples[0])
    attn = trace.attentions["encoder.0.self"]
    divergences = faithfulness.position_divergence(attn, decompose.decompose_scores(model, trace, attn))
    assert divergences[1] == pytest.approx(0, abs=1e-9) and min(divergences[0], divergences[2]) > 1e-4


def test_weights_are_dealt_among_the_keys_that_may_be_looked_at():
    attn_mask = torch.ones(T, T).tril().bool()
    permutations = faithfulness.random_permutations(attn_mask, 3)
    assert permutations.shape == (3, T, T) and not torch.equal(permutations[0], permutations[1])
    for permutation in permutations:
        for i, row in enumerate(permutation.tolist()):
            assert sorted(row[: i + 1]) == list(range(i + 1)) and row[i + 1 :] == list(range(i + 1, T))


@pytest.mark.parametrize("name", ["encoder.0.self", "decoder.1.self", "decoder.0.cross"])
def test_what_looks_evenly_cannot_be_shuffled_and_a_dead_head_moves_nothing(model, examples, name):
    site = next(site for site in attention_sites(model) if site.name == name)
    with torch.no_grad():
        site.attention.q_proj.weight[:8], site.attention.q_proj.bias[:8] = 0, 0  # head 0 is uniform
        site.attention.out_proj.weight[:, 8:16] = 0  # head 1 has no output
        site.attention.q_proj.weight[16:] *= 30  # head 2 is sharp, with a large output
        site.attention.v_proj.weight[16:] *= 30
    attn = trace_forward(model, examples[0]).attentions[name]
    uniform, dead, sharp = faithfulness.perturb_heads(model, examples[0], attn)
    assert uniform.permutation_tvd == pytest.approx(0, abs=1e-9) and uniform.uniform_loss_increase == pytest.approx(
        0, abs=1e-9
    )
    assert dead.permutation_tvd == pytest.approx(0, abs=1e-9) and dead.uniform_loss_increase == pytest.approx(
        0, abs=1e-9
    )
    assert sharp.permutation_tvd > 0.01


def test_what_evenness_costs_is_the_loss_it_adds(model, examples):
    attn = trace_forward(model, examples[1]).attentions["decoder.0.cross"]

    def make_uniform(weights):
        new = weights.clone()
        new[:, 2] = 1 / weights.shape[-1]
        return new

    full_losses = loss_by_sentence(model, examples[1:2])
    uniform_losses = loss_by_sentence(
        model, examples[1:2], lambda batch: {"decoder.layers.0.cross_attn.weights": make_uniform}
    )
    expected = float((uniform_losses - full_losses)[0] / count_target_tokens(examples[1:2])[0])
    assert (
        faithfulness.perturb_heads(model, examples[1], attn)[2].uniform_loss_increase
        == pytest.approx(expected, abs=1e-9)
        and abs(expected) > 1e-5
    )


def test_hidden_keys_of_a_scheme_stay_hidden(examples):
    model = model_of(config_of({"kind": "alibi", "sides": "two-sided"})).double()
    attn = trace_forward(model, examples[0]).attentions["encoder.0.self"]
    recorded = {}

    def record_weights(weights):
        recorded["weights"] = weights
        return weights

    original = faithfulness._log_probs

    def probing(model, batch):
        with alter(model, {"encoder.layers.0.self_attn.weights": record_weights}):
            return original(model, batch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faithfulness, "_log_probs", probing)
        faithfulness.perturb_heads(model, examples[0], attn)
    masked = ~decompose.head_attn_mask(attn)
    assert masked[2].any() and not recorded["weights"][:, masked].any()


def test_spearman_averages_ties_and_is_unknown_for_constants():
    ties, rising = np.array([0.1, 0.2, 0.2 + 1e-14, 0.3]), np.arange(4.0)  # ranks 1, 2.5, 2.5, 4
    assert spearman(ties, rising) == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert spearman(ties, -rising) == pytest.approx(-spearman(ties, rising))
    assert math.isnan(spearman(ties, np.full(4, 0.3))) and math.isnan(spearman(ties[:1], rising[:1]))


def test_ranks_are_compared_row_by_row():
    rising, falling = torch.arange(S).repeat(T, 1), torch.arange(S).flip(0).repeat(T, 1)
    full_mask = torch.ones(T, S).bool()
    assert faithfulness.rank_correlation(rising, rising * 3, full_mask) == pytest.approx(1)
    assert faithfulness.rank_correlation(rising, falling, full_mask) == pytest.approx(-1)
    assert faithfulness.rank_correlation(rising, torch.ones(T, S), full_mask) is None
    causal = torch.ones(T, S).tril().bool()  # masked keys, where all is 0, must not count as agreement
    assert faithfulness.rank_correlation(rising * causal, falling * causal, causal) == pytest.approx(-1)


def test_the_gradient_is_that_of_each_weight_and_its_product_with_it_is_told_apart(model, examples):
    """A step along one weight changes the loss by its gradient, without the factor of the weight."""
    trace, gradients = trace_forward(model, examples[0]), attention_gradients(model, examples[0])
    name, (h, i, j), step = "decoder.1.cross", (1, 2, 3), 1e-5

    def loss_after(change: float) -> float:
        def add_change(weights):
            new = weights.clone()
            new[:, h, i, j] += change
            return new

        return float(
            loss_by_sentence(model, examples[:1], lambda _: {f"{attention_path(name)}.weights": add_change})[0]
        )

    slope = abs(loss_after(step) - loss_after(-step)) / (2 * step)
    assert float(gradients[name][h, i, j]) == pytest.approx(slope, rel=1e-5)
    weight = float(trace.attentions[name].weights[h, i, j])
    assert float(gradient_times_attention(trace, gradients)[name][h, i, j]) == pytest.approx(weight * slope, rel=1e-5)


def test_what_cannot_be_measured_is_not_nought(model, examples):
    """One key leaves no head a choice; terms that are unknown say nothing of positions."""
    lone = trace_forward(model, example_of([], [9, 10]))
    assert np.isnan(faithfulness.head_divergences(lone.of_kind("cross"))).all()
    trace = trace_forward(model, examples[0])
    attn = trace.attentions["encoder.1.self"]
    terms = decompose.decompose_scores(model, trace, attn, decompose.compute_corpus_means(model, [trace, trace]))
    everywhere = faithfulness.position_divergence(attn, terms)
    part = faithfulness.position_divergence(attn, replace(terms, known_queries=4, known_keys=4))
    corner = replace(attn, weights=attn.weights[:, :4, :4] / attn.weights[:, :4, :4].sum(dim=-1, keepdim=True))
    cut = {"grouped_terms": terms.grouped_terms[:, :, :4, :4], "attn_mask": terms.attn_mask[:, :4, :4]}
    assert part == pytest.approx(faithfulness.position_divergence(corner, replace(terms, **cut)))
    assert not np.allclose(part, everywhere)
    assert np.isnan(faithfulness.position_divergence(attn, replace(terms, known_queries=0, known_keys=0))).all()
