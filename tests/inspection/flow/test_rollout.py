"""Properties and closed forms of rollout and flow."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from regard.inspection.flow import attribution, norms, rollout
from regard.inspection.trace import attention_sites, trace_forward
from regard.model.taps import alter
from tests.inspection.conftest import config_of, example_of, model_of

STEP = 2 / rollout.CAPACITY_SCALE
"""The rounding error of a flow for each edge on its path."""


def random_weights(count: int, n: int, m: int | None = None, seed: int = 1) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.randn(n, m or n, dtype=torch.float64).softmax(dim=-1) for _ in range(count)]


def test_rollout_of_no_attention_is_the_identity():
    assert torch.equal(rollout.attention_rollout([torch.zeros(7, 7)] * 5), torch.eye(7))


def test_rollout_of_uniform_attention_has_a_closed_form():
    n, layers = 7, 5
    actual = rollout.attention_rollout([torch.full((n, n), 1 / n, dtype=torch.float64)] * layers)
    share = 2.0**-layers
    assert_close(actual, share * torch.eye(n, dtype=torch.float64) + (1 - share) / n, rtol=0, atol=1e-15)


def test_rollout_rows_sum_to_one_and_the_past_stays_the_past():
    layers = [w.tril() / w.tril().sum(dim=1, keepdim=True) for w in random_weights(4, 9)]
    actual = rollout.attention_rollout(layers, [torch.rand(9, dtype=torch.float64) for _ in layers])
    assert_close(actual.sum(dim=1), torch.ones(9, dtype=torch.float64))
    assert not actual.triu(1).any()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_token_keeps_what_the_measured_ratio_leaves_it(norm):
    """The ratio is the share of all other tokens, so attention of a token to itself adds nothing to it."""
    model = model_of(config_of({"kind": "sinusoidal"}, norm=norm, layers=1)).double()
    trace = trace_forward(model, example_of([5, 6, 7, 8], [9, 10, 11]))
    analysis = attribution.analyze_flow(trace)
    assert_close(1 - analysis.rollout.encoder.diagonal(), analysis.mixing_ratios["encoder"][0])
    (self_ratio,), (cross_ratio,) = analysis.mixing_ratios["decoder"], analysis.mixing_ratios["cross"]
    assert_close(analysis.rollout.decoder.target.diagonal(), (1 - self_ratio) * (1 - cross_ratio))
    assert_close(analysis.rollout.decoder.source_share, cross_ratio)
    assert_close(
        analysis.rollout.decoder.target[0], torch.eye(4, dtype=torch.float64)[0] * (1 - cross_ratio[0])
    )  # it has no other key


def test_a_row_that_has_only_itself_stays_itself():
    weights = torch.tensor([[1.0, 0, 0], [0.6, 0.4, 0], [0.2, 0.3, 0.5]], dtype=torch.float64)
    expected = torch.tensor([[1.0, 0, 0], [0.7, 0.3, 0], [0.28, 0.42, 0.3]], dtype=torch.float64)
    assert_close(rollout.add_measured_residual(weights, 0.7), expected)


def test_deep_maps_of_random_attention_look_alike():
    """With depth all rows of a rollout become equal."""
    distances = [
        float(torch.pdist(rollout.attention_rollout(random_weights(depth, 9)), p=1).max()) for depth in (1, 4, 12, 24)
    ]
    assert distances == sorted(distances, reverse=True) and distances[-1] < 1e-3


def test_flow_through_one_layer_is_its_edges_and_through_two_the_sum_of_narrowest():
    (one, two) = random_weights(2, 6)
    a, b = rollout.add_residual(one), rollout.add_residual(two)
    assert_close(rollout.attention_flow([one]), a, rtol=0, atol=STEP)
    narrowest = torch.minimum(b[:, :, None], a[None]).sum(dim=1)
    assert_close(rollout.attention_flow([one, two]), narrowest, rtol=0, atol=6 * STEP)


def test_flow_lies_between_rollout_and_one():
    layers = random_weights(3, 11)
    flow, rolled = rollout.attention_flow(layers), rollout.attention_rollout(layers)
    assert bool((flow >= rolled - 11 * STEP).all()) and bool((flow <= 1 + 11 * STEP).all())
    assert rollout.attention_flow([torch.eye(rollout.MAX_FLOW_TOKENS + 1)]) is None


def test_source_and_target_shares_sum_to_one():
    self_attn = [w.tril() / w.tril().sum(dim=1, keepdim=True) for w in random_weights(3, 5)]
    shares = rollout.encoder_decoder_rollout(
        rollout.attention_rollout(random_weights(2, 7)), self_attn, random_weights(3, 5, 7)
    )
    assert_close(shares.source_share + shares.target.sum(dim=1), torch.ones(5, dtype=torch.float64))
    assert not shares.target.triu(1).any()
    none = rollout.encoder_decoder_rollout(torch.eye(7).double(), self_attn, [torch.zeros(5, 7).double()] * 3)
    assert not none.source.any()


def test_flow_across_the_border_is_at_least_the_rollout_across_it():
    encoder = random_weights(2, 4)
    self_attn, cross = (
        [w.tril() / w.tril().sum(dim=1, keepdim=True) for w in random_weights(2, 3)],
        random_weights(2, 3, 4),
    )
    flow = rollout.encoder_decoder_flow(encoder, self_attn, cross)
    assert bool(
        (
            flow
            >= rollout.encoder_decoder_rollout(rollout.attention_rollout(encoder), self_attn, cross).source - 4 * STEP
        ).all()
    )


def test_the_first_decoder_layer_without_encoder_layers_has_a_closed_form():
    self_attn, cross = [torch.eye(3, dtype=torch.float64)], random_weights(1, 3, 4)
    shares = rollout.encoder_decoder_rollout(torch.eye(4, dtype=torch.float64), self_attn, cross)
    assert_close(shares.source, cross[0] / 2)
    assert_close(shares.target, torch.eye(3, dtype=torch.float64) / 2)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_attention_to_oneself_mixes_nothing_and_values_of_one_length_rank_as_weights(norm):
    model = model_of(config_of({"kind": "alibi"}, norm=norm)).double()
    model.encoder.layers[0].self_attn.positions.slopes.fill_(1e4)  # so steep that each token attends to itself alone
    attn = trace_forward(model, example_of([5, 6, 7], [8])).attentions["encoder.0.self"]
    assert float(norms.mixing_ratio(attn).max()) < 1e-12
    same = replace(attn, v=attn.v[:, :1].expand_as(attn.v))
    assert_close(norms.value_weighted_norms(same).argsort(dim=-1), same.weights.argsort(dim=-1))


def test_signed_shares_of_keys_and_bias_sum_to_one():
    attn = trace_forward(
        model_of(config_of({"kind": "relative", "values": True})).double(), example_of([5, 6, 7], [8, 9])
    ).attentions["decoder.1.self"]
    of_bias = (attn.out @ attn.site.attention.out_proj.bias.detach()) / attn.out.pow(2).sum(dim=1)
    shares = norms.signed_shares(attn)
    assert_close(shares.sum(dim=(0, 2)) + of_bias, torch.ones(3, dtype=torch.float64))
    summed = torch.einsum("ijd,id->ij", norms.key_contributions(attn), attn.out) / attn.out.pow(2).sum(dim=1)[:, None]
    assert_close(shares.sum(dim=0), summed)


def test_rows_of_a_rollout_differ_wholly_not_at_all_or_by_halves():
    assert rollout.mean_total_variation(torch.eye(5)) == 1
    assert rollout.mean_total_variation(torch.full((5, 5), 0.2)) == 0
    assert rollout.mean_total_variation(torch.tensor([[3.0, 3.0, 0.0], [0.0, 0.5, 0.5]])) == pytest.approx(0.5)


def test_weights_dealt_out_at_random_are_what_a_rollout_is_told_beside():
    """Permuted weights: rows still sum to 1, the mask stays causal, and uniform weights do not change."""
    model = model_of(config_of({"kind": "sinusoidal"})).double()
    trace = trace_forward(model, example_of([5, 6, 7, 8], [9, 10, 11]))
    analysis = attribution.analyze_flow(trace)
    assert len(analysis.permuted_rollouts) == attribution.NUM_PERMUTATIONS
    for permuted in analysis.permuted_rollouts:
        assert_close(permuted.encoder.sum(dim=1), torch.ones(5, dtype=torch.float64))
        assert not permuted.decoder.target.triu(1).any()
    assert (
        len({tuple(permuted.encoder.flatten().tolist()) for permuted in analysis.permuted_rollouts})
        == attribution.NUM_PERMUTATIONS
    )
    with torch.no_grad():
        for site in attention_sites(model):
            site.attention.q_proj.weight.zero_()
            site.attention.q_proj.bias.zero_()
    uniform = attribution.analyze_flow(trace_forward(model, trace.example))
    for permuted in uniform.permuted_rollouts:
        assert_close(permuted.encoder, uniform.rollout.encoder)
        assert_close(permuted.decoder.source, uniform.rollout.decoder.source)


def test_what_a_token_pays_itself_is_not_dealt_out():
    """Rollout takes the diagonal from the ratio, so weights that are uniform off the diagonal equal the baseline."""
    model = model_of(config_of({"kind": "sinusoidal"})).double()

    def mostly_diagonal(weights):
        n = weights.shape[-1]
        return (0.9 * torch.eye(n) + 0.1 * (1 - torch.eye(n)) / (n - 1)).to(weights).expand_as(weights)

    with alter(model, {f"encoder.layers.{layer}.self_attn.weights": mostly_diagonal for layer in range(2)}):
        analysis = attribution.analyze_flow(trace_forward(model, example_of([5, 6, 7, 8], [9, 10, 11])))
    for permuted in analysis.permuted_rollouts:
        assert_close(permuted.encoder, analysis.rollout.encoder)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, torch.tensor([0.1, 0.2, 0.3, 0.4, 0.7], dtype=torch.double)], ids=str)
def test_a_residual_is_mixed_row_by_row(ratio):
    """To the last bit of the weights, whatever the type of the ratio."""
    weights = torch.rand(5, 5, dtype=torch.double)
    mixed, measured = rollout.add_residual(weights, ratio), rollout.add_measured_residual(weights, ratio)
    for i in range(5):
        r = float(ratio if isinstance(ratio, float) else ratio[i])
        row = [(1 - r) * (i == j) + r * float(weights[i, j]) for j in range(5)]
        assert_close(mixed[i], torch.tensor([x / sum(row) for x in row], dtype=torch.double), rtol=1e-14, atol=1e-15)
        others = sum(float(weights[i, j]) for j in range(5) if j != i)
        row = [1 - r if i == j else r * float(weights[i, j]) / others for j in range(5)]
        assert_close(measured[i], torch.tensor(row, dtype=torch.double), rtol=1e-14, atol=1e-15)


def test_a_row_of_its_own_diagonal_stays_with_itself():
    weights = torch.diag(torch.tensor([0.2, 1.0, 0.0], dtype=torch.double))
    assert torch.equal(rollout.add_measured_residual(weights, 0.4), torch.eye(3, dtype=torch.double))
