"""What is measured of a model holds for position schemes that a plug-in registers, wherever they enter."""

import pytest
import torch
from torch.testing import assert_close

from regard.inspection import selftest
from regard.inspection.flow.decompose import decompose_embedding
from regard.inspection.planted import planted_examples
from regard.inspection.positions import analyze_stack_positions
from regard.model.positions import Positions
from regard.model.register import register_position_scheme

EXACT = 1e-12


class Ramp(Positions):
    """Enters at the embeddings, but is none of the built-in absolute schemes."""

    def __init__(self, shape, config):
        super().__init__()

    def embed(self, x, position_ids):
        return x + 0.1 * position_ids[..., None].to(x)


class ScaledRotation(Positions):
    """Rotates pairs of dimensions, and adds a bias that depends on the query, by head."""

    by_head = True

    def __init__(self, shape, config):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.linspace(0.1, 0.7, shape.heads)[:, None, None])

    def rotate(self, q, position_ids):
        angle = 0.3 * position_ids[:, None, :, None].to(q)
        first, second = q.chunk(2, dim=-1)
        return torch.cat((first * angle.cos() - second * angle.sin(), second * angle.cos() + first * angle.sin()), -1)

    def bias(self, q, q_position_ids, k_position_ids):
        distance = (k_position_ids[:, None, :] - q_position_ids[:, :, None]).abs()[:, None]
        return -self.slopes * distance.to(q.dtype)


class QueryBias(ScaledRotation):
    """A bias of which a part depends on the query, for every head alike."""

    by_head = False

    def bias(self, q, q_position_ids, k_position_ids):
        return q.sum(-1, keepdim=True) + super().bias(q, q_position_ids, k_position_ids)


@pytest.fixture(params=["kerple", "ramp", "scaled-rotation"])
def scheme(request, example_plugin) -> str:
    register_position_scheme("ramp", enters="embeddings")(Ramp)
    register_position_scheme("scaled-rotation", shared=True)(ScaledRotation)
    return request.param


@pytest.mark.parametrize(
    "measure",
    [
        selftest._fused_path_error,
        selftest._row_sum_error,
        selftest._score_terms_error,
        selftest._contribution_error,
        selftest._pruning_error,
    ],
)
def test_the_selftests_hold(scheme: str, measure):
    def make(**overrides):
        return selftest.small_model(scheme, "pre", torch.float64, **overrides)

    assert measure(make, planted_examples(selftest.VOCAB_SIZE)[:3]) <= EXACT


def test_positions_are_analyzed_under_the_registered_name(scheme: str):
    for stack in ("encoder", "decoder"):
        positions = analyze_stack_positions(selftest.small_model(scheme), stack, 7)
        assert positions.scheme == scheme and len(positions.effects) == 2


def test_what_a_registered_scheme_adds_to_embeddings_is_their_position(example_plugin):
    register_position_scheme("ramp", enters="embeddings")(Ramp)
    position_ids = torch.arange(7)[None]
    parts = decompose_embedding(selftest.small_model("ramp").encoder.embedding, torch.arange(4, 11), position_ids)
    assert_close(parts.position, 0.1 * position_ids[0, :, None].expand(-1, 32))


def test_a_registered_bias_is_tabulated_by_head_and_distance(example_plugin):
    model = selftest.small_model("kerple")
    (table,) = analyze_stack_positions(model, "encoder", 7).tables[:1]
    assert table.row_labels == tuple(range(-6, 7)) and table.values.shape == (13, 4)
    slopes = model.encoder.layers[0].self_attn.positions.slopes.detach().abs()[:, 0, 0]
    assert_close(torch.tensor(table.values[8]).float(), -slopes * torch.tensor(2.0).log1p())


def test_a_bias_that_depends_on_the_query_is_tabulated_for_a_query_of_zeros(example_plugin):
    register_position_scheme("query-bias", shared=True)(QueryBias)
    model = selftest.small_model("query-bias")
    for stack, distances in (("encoder", range(-6, 7)), ("decoder", range(-6, 1))):
        slopes = getattr(model, stack).layers[0].self_attn.positions.slopes.detach()[:, 0, 0]
        for table in analyze_stack_positions(model, stack, 7).tables:
            assert table.row_labels == tuple(distances)
            expected = torch.stack([-slopes * abs(d) for d in distances])
            assert_close(torch.tensor(table.values).float(), expected)
