"""Optimisers, schedules, averages, budgets."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.config import TrainConfig
from regard.model.weights import tensors_of
from regard.training import ema, optim
from regard.training.muon import Muon, orthogonalize
from regard.training.planning.budget import Budget
from regard.training.schedule import SCHEDULES, constant, cosine, inverse_sqrt, linear_decay
from tests.training.conftest import make_batch, make_loss_module


def test_newton_and_schulz_bring_singular_values_near_one():
    for shape in ((17, 31), (31, 17), (13, 13)):
        g = torch.randn(shape)
        u, _, v = torch.linalg.svd(g, full_matrices=False)
        orthogonal = orthogonalize(g)
        values = torch.linalg.svdvals(orthogonal)
        assert float(values.min()) > 0.4 and float(values.max()) < 1.4
        assert float((orthogonal * (u @ v)).sum() / (orthogonal.norm() * (u @ v).norm())) > 0.95


def test_muon_agrees_with_torch_in_its_direction():
    p, q = (torch.nn.Parameter(torch.ones(11, 7)) for _ in range(2))
    theirs = torch.optim.Muon([q], lr=0.1, weight_decay=0.0, momentum=0.95, nesterov=True)
    ours = Muon([p], lr=0.1, weight_decay=0.0)
    for _ in range(3):
        p.grad = torch.randn(11, 7)
        q.grad = p.grad.clone()
        ours.step()
        theirs.step()
    mine, other = p.detach() - 1, q.detach() - 1
    assert float((mine * other).sum() / (mine.norm() * other.norm())) > 0.99
    assert float(mine.norm() / other.norm()) == pytest.approx(1, abs=0.05)


def test_muon_leaves_the_tables_of_positions_to_adam():
    for kind in ("relative", "bias", "t5"):
        model = make_loss_module(positions={"kind": kind}).model
        optimizers = optim.build_optimizers(TrainConfig(optimizer="muon"), model)
        _, (muon, _) = optimizers.optimizers_with_peak_lr
        names = [optimizers.parameter_names[p] for group in muon.param_groups for p in group["params"]]
        assert names and not [name for name in names if "positions" in name]


def take_steps(loss_module, optimizers, count: int) -> None:
    for _ in range(count):
        batch = make_batch([3, 7, 2])
        (loss_module(batch).objective / batch.num_targets).backward()
        optimizers.step(1.0)


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_every_parameter_has_one_optimiser_and_learns(kind: str):
    loss_module = make_loss_module()
    optimizers = optim.build_optimizers(TrainConfig(optimizer=kind), loss_module.model)
    owned = [p for o, _ in optimizers.optimizers_with_peak_lr for group in o.param_groups for p in group["params"]]
    assert len(owned) == len(set(owned)) == len(list(loss_module.model.parameters()))
    before = float(loss_module(make_batch([3, 7, 2])).loss)
    take_steps(loss_module, optimizers, 20)
    assert float(loss_module(make_batch([3, 7, 2])).loss) < 0.5 * before


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_state_handed_over_by_name_goes_on_exactly(kind: str):
    config = TrainConfig(optimizer=kind)
    whole, parted = make_loss_module(), make_loss_module()
    first = optim.build_optimizers(config, whole.model)
    take_steps(whole, first, 5)
    saved = {name: t.clone() for name, t in first.state_tensors().items()}
    parted.load_state_dict(whole.state_dict())
    second = optim.build_optimizers(config, parted.model)
    second.restore(saved, lambda tensor, like: tensor)
    take_steps(whole, first, 3)
    take_steps(parted, second, 3)
    for mine, theirs in zip(whole.parameters(), parted.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_weight_decay_spares_biases_and_norms():
    loss_module = make_loss_module()
    groups = optim.build_optimizers(TrainConfig(), loss_module.model).optimizers_with_peak_lr[0][0].param_groups
    assert all(p.ndim == 2 for p in groups[0]["params"]) and groups[0]["weight_decay"] > 0
    assert all(p.ndim == 1 for p in groups[1]["params"]) and groups[1]["weight_decay"] == 0


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_rise_in_a_line_to_one(name: str):
    schedule = SCHEDULES[name](10)
    assert [schedule(n, 0.0) for n in (1, 5, 10)] == pytest.approx([0.1, 0.5, 1.0])


def test_schedules_fall_as_they_say():
    assert inverse_sqrt(10)(1000, 0.5) == pytest.approx(0.1)
    assert cosine(10)(1000, 0.5) == pytest.approx(0.5) and cosine(10)(1000, 1.0) == pytest.approx(0.0)
    assert constant(10)(1000, 1.0) == 1.0
    assert inverse_sqrt(0)(4, 0.0) == pytest.approx(0.5)
    assert [linear_decay(0.5)(1, progress) for progress in (0.0, 0.5, 1.0)] == pytest.approx([0.5, 0.25, 0.0])


def test_a_moving_average_is_its_formula_and_goes_away_again():
    loss_module = make_loss_module()
    average = ema.build_ema(loss_module.model, 0.5)
    name = "encoder.layers.0.self_attn.q_proj.weight"
    values = [tensors_of(loss_module.model)[name].clone()]
    expected = values[0]
    for n in range(1, 4):
        with torch.no_grad():
            loss_module.model.get_parameter(name).add_(1.0)
        average.update()
        decay = min(0.5, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * (values[0] + n)
    with average.averaged_weights():
        assert_close(tensors_of(loss_module.model)[name], expected)
    assert_close(tensors_of(loss_module.model)[name], values[0] + 3)


def test_a_budget_counts_steps_or_the_clock():
    assert Budget(10, None).progress(5) == 0.5
    clock = Budget(None, 1.0, previous_seconds=30.0)
    assert clock.progress(99) == pytest.approx(0.5, abs=0.01)
    clock.reserved_seconds = 30.0
    assert clock.progress(99) >= 1.0
    assert Budget(10, 1.0, previous_seconds=59.9).progress(1) > 0.9
    assert (
        Budget(10, None).remaining_seconds(5, steps_per_second=2.0) == 2.5
        and Budget(None, None).remaining_seconds(5, 1.0) == math.inf
    )
