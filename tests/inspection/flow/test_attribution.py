"""Attribution by several methods: each is its own formula, for an encoder alone and across both stacks."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.inspection.example import Example
from regard.inspection.flow import norms, rollout
from regard.inspection.flow.attribution import (
    METHODS,
    AttributionMatrices,
    analyze_flow,
    attention_gradients,
    attribution_matrices,
    gradient_times_attention,
    method_correlations,
)
from regard.inspection.heads.statistics import spearman
from regard.inspection.trace import trace_forward
from regard.model.build import build_encoder
from tests.inspection.conftest import SIZE, config_of, model_of


@pytest.fixture
def trace(examples):
    model = model_of(config_of({"kind": "sinusoidal"})).double()
    return model, trace_forward(model, examples[0])


def test_each_method_is_a_mean_over_heads_and_layers(trace, examples):
    model, one = trace
    flow = analyze_flow(one)
    gradients = gradient_times_attention(one, attention_gradients(model, examples[0]))
    found = attribution_matrices(one, flow, gradients)
    cross = one.of_kind("cross")
    assert_close(found.weights, sum(attn.weights.mean(0) for attn in cross) / 2)
    assert_close(found.norms, sum(norms.key_contributions(attn).norm(dim=-1) for attn in cross) / 2)
    assert_close(found.gradient, sum(gradients[attn.site.name].mean(0) for attn in cross) / 2)
    assert found.rollout is flow.rollout.decoder.source and found.flow is flow.max_flow_source
    assert found.weights.shape == found.rollout.shape == found.flow.shape == (6, 8)
    assert attribution_matrices(one, flow, {}).gradient is None


def test_an_encoder_alone_is_attributed_within_itself(examples):
    torch.manual_seed(3)
    config = config_of({"kind": "sinusoidal"}, architecture="encoder")
    model = build_encoder(config, SIZE, 0).double().eval()
    one = trace_forward(model, Example(examples[0].source))
    flow = analyze_flow(one)
    found = attribution_matrices(one, flow, attention_gradients(model, Example(examples[0].source)))
    assert flow.rollout.decoder is None and flow.max_flow_source is None and found.gradient is None
    assert found.rollout is flow.rollout.encoder and found.flow is flow.max_flow
    assert found.weights.shape == found.rollout.shape == (8, 8) and set(flow.mixing_ratios) == {"encoder"}
    table = method_correlations(found)
    assert np.isnan(table[METHODS.index("gradient")]).all() and np.isfinite(table[:4, :4]).all()


def test_a_rollout_has_the_measured_ratios(trace):
    _, one = trace
    flow = analyze_flow(one)
    means = {kind: [attn.weights.mean(0) for attn in one.of_kind(kind)] for kind in ("encoder", "decoder", "cross")}
    ratios = {kind: [norms.mixing_ratio(attn) for attn in one.of_kind(kind)] for kind in means}
    encoder = rollout.attention_rollout(means["encoder"], ratios["encoder"])
    assert_close(flow.rollout.encoder, encoder)
    both = rollout.encoder_decoder_rollout(
        encoder, means["decoder"], means["cross"], list(zip(ratios["decoder"], ratios["cross"], strict=True))
    )
    assert_close(flow.rollout.decoder.source, both.source)
    assert all(torch.equal(a, b) for kind in means for a, b in zip(flow.mixing_ratios[kind], ratios[kind], strict=True))
    assert len(flow.permuted_rollouts) == 7
    for permuted in flow.permuted_rollouts:
        assert_close(permuted.encoder.sum(1), torch.ones(8, dtype=torch.double))
        assert_close(permuted.encoder.diagonal().mean(), encoder.diagonal().mean(), rtol=0.5, atol=0.1)
        assert not torch.allclose(permuted.encoder, encoder)


def test_correlations_are_means_over_rows():
    rng = np.random.default_rng(3)
    tensors = [torch.from_numpy(rng.random((5, 7))) for _ in range(4)]
    matrices = AttributionMatrices(tensors[0], tensors[1], tensors[2], None, tensors[3])
    table = method_correlations(matrices)
    assert METHODS == ("weights", "norms", "rollout", "flow", "gradient")
    expected = np.mean([spearman(x, y) for x, y in zip(tensors[0].numpy(), tensors[1].numpy(), strict=True)])
    assert table[0, 1] == table[1, 0] == pytest.approx(expected) and table[0, 0] == pytest.approx(1)
    assert math.isnan(table[0, 3]) and math.isnan(table[3, 3]) and np.isfinite(table[4, :3]).all()
    tensors[1][2:] = 0.5  # constant rows have no rank
    rest = method_correlations(AttributionMatrices(tensors[0], tensors[1], tensors[2], None, tensors[3]))
    some = np.mean([spearman(x, y) for x, y in zip(tensors[0].numpy()[:2], tensors[1].numpy()[:2], strict=True)])
    assert rest[0, 1] == pytest.approx(some)


def plain_flow(encoder, decoder, cross, i: int, j: int) -> float:
    """The maximal flow from state i of the last decoder layer to source token j, over edges named one by one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    names: dict[tuple[str, int, int], int] = {}
    edges: dict[tuple[int, int], float] = {}

    def node(*name) -> int:
        return names.setdefault(name, len(names))

    def connect(start, end, capacity: float) -> None:
        edges[node(*start), node(*end)] = capacity

    for layer, weights in enumerate(encoder):
        for (a, b), w in np.ndenumerate((weights.numpy() + np.eye(len(weights))) / 2):
            connect(("encoder", layer + 1, a), ("encoder", layer, b), w)
    for layer, (own, other) in enumerate(zip(decoder, cross, strict=True)):
        for (a, b), w in np.ndenumerate((own.numpy() + np.eye(len(own))) / 2):
            connect(("middle", layer, a), ("decoder", layer, b), w)
        for a in range(len(own)):
            connect(("decoder", layer + 1, a), ("middle", layer, a), 0.5)
        for (a, b), w in np.ndenumerate(other.numpy() / 2):
            connect(("decoder", layer + 1, a), ("encoder", len(encoder), b), w)
    start, end = node("decoder", len(decoder), i), node("encoder", 0, j)
    (rows, columns), values = zip(*edges, strict=True), np.rint(np.array(list(edges.values())) * 2**30).astype(np.int32)
    graph = csr_array((values, (rows, columns)), shape=(len(names), len(names)))
    return maximum_flow(graph, start, end).flow_value / 2**30


def test_flow_is_that_of_a_graph_whose_edges_are_named():
    torch.manual_seed(5)
    encoder = [torch.randn(3, 3).double().softmax(-1) for _ in range(2)]
    decoder = [(torch.randn(4, 4).double() + torch.full((4, 4), -1e9).triu(1)).softmax(-1) for _ in range(3)]
    cross = [torch.randn(4, 3).double().mul(3).softmax(-1) for _ in range(3)]
    found = rollout.encoder_decoder_flow(encoder, decoder, cross)
    expected = [[plain_flow(encoder, decoder, cross, i, j) for j in range(3)] for i in range(4)]
    assert_close(found, torch.tensor(expected, dtype=torch.double), rtol=0, atol=1e-6)
    long = torch.eye(rollout.MAX_FLOW_TOKENS + 1).double()
    assert rollout.attention_flow([long]) is None and rollout.attention_flow([long[:-1, :-1]]) is not None
    assert rollout.encoder_decoder_flow([long], [long], [long]) is None
