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


def test_groups_have_the_rates_and_the_decay_of_the_settings():
    c = TrainConfig(
        optimizer="muon",
        learning_rate=0.003,
        muon_learning_rate=0.05,
        weight_decay=0.07,
        betas=(0.8, 0.97),
        epsilon=1e-7,
    )
    model = make_loss_module().model
    (adamw, adamw_lr), (muon, muon_lr) = optim.build_optimizers(c, model).optimizers_with_peak_lr
    assert (adamw_lr, muon_lr) == (0.003, 0.05)
    assert [group["weight_decay"] for group in adamw.param_groups] == [0.07, 0.0]
    for group in adamw.param_groups:
        assert (group["lr"], group["betas"], group["eps"], group["fused"]) == (0.003, (0.8, 0.97), 1e-7, True)
    (group,) = muon.param_groups
    assert (group["lr"], group["momentum"], group["weight_decay"], group["ns_steps"]) == (0.05, 0.95, 0.07, 5)
    names = {p: name for name, p in model.named_parameters()}
    assert all(".layers." in names[p] for p in group["params"])
    assert not any(".layers." in names[p] for p in adamw.param_groups[0]["params"])


def test_a_step_is_at_a_fraction_of_each_peak_and_forgets_the_gradients():
    model = make_loss_module().model
    optimizers = optim.build_optimizers(
        TrainConfig(optimizer="muon", learning_rate=0.003, muon_learning_rate=0.05), model
    )
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    assert optimizers.step(0.25) == pytest.approx([0.003 / 4, 0.05 / 4])
    assert all(p.grad is None for p in model.parameters())
    for (optimizer, peak), group in (
        (pair, g) for pair in optimizers.optimizers_with_peak_lr for g in pair[0].param_groups
    ):
        assert group["lr"] == pytest.approx(peak / 4) and optimizer.state


@pytest.mark.parametrize("shape", [(13, 7), (7, 13), (7, 7)])
def test_a_step_of_muon_is_its_formula(shape: tuple[int, int]):
    """Decay first, then a step along the orthogonal part of Nesterov's momentum, larger for a tall matrix."""
    p, still = torch.nn.Parameter(torch.randn(shape)), torch.nn.Parameter(torch.ones(5, 3))
    optimizer = Muon([p, still], lr=0.1, momentum=0.9, weight_decay=0.3)
    expected, momentum = p.detach().clone(), torch.zeros(shape)
    for _ in range(3):
        p.grad = torch.randn(shape)
        momentum = 0.9 * momentum + 0.1 * p.grad
        direction = orthogonalize(0.1 * p.grad + 0.9 * momentum)
        expected = (1 - 0.1 * 0.3) * expected - 0.1 * math.sqrt(max(1, shape[0] / shape[1])) * direction
        optimizer.step()
        assert_close(p.detach(), expected)
    assert torch.equal(still.detach(), torch.ones(5, 3))  # it has no gradient, and so does not even decay


def test_newton_and_schulz_apply_a_quintic_to_singular_values():
    g = torch.randn(11, 7, dtype=torch.float64)
    u, s, vt = torch.linalg.svd(g, full_matrices=False)
    s = s / (g.norm() + 1e-7)
    for steps in range(4):
        assert_close(orthogonalize(g, steps), u @ torch.diag(s) @ vt)
        assert_close(orthogonalize(g.mT, steps), (u @ torch.diag(s) @ vt).mT)
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    assert not orthogonalize(torch.zeros(3, 2)).any()  # and not 0 / 0


def test_a_budget_needs_a_clock_only_where_minutes_are_given():
    late = Budget(None, 0.5, previous_seconds=30.0, reserved_seconds=100.0)
    assert late.progress(0) == pytest.approx(30, abs=1)  # at least a second is left to divide by
    assert (Budget(10, None).previous_seconds, Budget(10, None).reserved_seconds) == (0, 0)
    assert Budget(10, None).progress(0) == 0 and Budget(10, None, previous_seconds=1e9).progress(3) == 0.3
    assert Budget(None, 2.0, previous_seconds=30.0).remaining_seconds(0, 0.0) == pytest.approx(90, abs=1)


def test_on_other_devices_adamw_is_not_fused_and_counts_its_steps_on_the_cpu():
    matrix, vector = (torch.nn.Parameter(torch.empty(shape, device="meta")) for shape in ((3, 5), (7,)))
    model = torch.nn.ParameterDict({"matrix": matrix, "vector": vector})
    optimizers = optim.build_optimizers(TrainConfig(), model)
    ((adamw, _),) = optimizers.optimizers_with_peak_lr
    assert {group["fused"] for group in adamw.param_groups} == {False}
    saved = {"matrix/step": torch.tensor(3.0), "matrix/exp_avg": torch.ones(3, 5), "vector/exp_avg": torch.ones(7)}
    optimizers.restore(saved, lambda tensor, like: tensor.to(like.device))
    found = optimizers.state_tensors()
    assert {name: tensor.device.type for name, tensor in found.items()} == {
        "matrix/step": "cpu",
        "matrix/exp_avg": "meta",
        "vector/exp_avg": "meta",
    }
    assert found["matrix/exp_avg"].shape == (3, 5) and adamw.state[vector].keys() == {"exp_avg"}


@pytest.mark.parametrize("name", SCHEDULES)
def test_without_warmup_the_first_step_is_at_the_peak(name: str):
    assert SCHEDULES[name](0)(1, 0.0) == SCHEDULES[name](1)(1, 0.0) == 1
    assert SCHEDULES[name](0)(2, 0.0) == SCHEDULES[name](1)(2, 0.0)


def test_on_a_cpu_muon_is_our_own_and_decays_nothing_unless_told():
    p = torch.nn.Parameter(torch.ones(3, 2))
    assert Muon([p], lr=0.1).defaults == {"lr": 0.1, "momentum": 0.95, "weight_decay": 0.0, "ns_steps": 5}
    optimizers = optim.build_optimizers(TrainConfig(optimizer="muon"), make_loss_module().model)
    assert [type(one) for one, _ in optimizers.optimizers_with_peak_lr] == [torch.optim.AdamW, Muon]
