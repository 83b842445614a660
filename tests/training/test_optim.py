"""Optimisers, schedules, averages, budgets."""

import math

import pytest
import torch
from torch.testing import assert_close

from regard.config import TrainConfig
from regard.model.weights import tensors_of
from regard.training import ema, optim
from regard.training.muon import (
    JORDAN,
    Muon,
    NewtonSchulz,
    minimax_quintic,
    polar_express,
    whole,
)
from regard.training.planning.budget import Budget
from regard.training.schedule import (
    DECAY_SHAPES,
    SCHEDULES,
    constant,
    cosine,
    inverse_sqrt,
    linear_decay,
    warmup_stable_decay,
)
from tests.training.conftest import make_batch, make_loss_module


def orthogonalize(g: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """The published iteration on one matrix, written out."""
    a, b, c = JORDAN
    x = (g.mT if g.shape[0] > g.shape[1] else g) / (g.norm() + 1e-7)
    for _ in range(steps):
        x = a * x + b * (x @ x.mT) @ x + c * (x @ x.mT) @ (x @ x.mT) @ x
    return x.mT if g.shape[0] > g.shape[1] else x


ITERATIONS = {
    "jordan": NewtonSchulz(),
    "jordan in bfloat16": NewtonSchulz(dtype=torch.bfloat16),
    "polar express": NewtonSchulz(polar_express(4), tight=True),
    "polar express in bfloat16": NewtonSchulz(polar_express(4), tight=True, dtype=torch.bfloat16),
}


@pytest.mark.parametrize("name", ITERATIONS)
@pytest.mark.parametrize("shape", [(17, 31), (31, 17), (13, 13)])
def test_newton_and_schulz_bring_singular_values_near_one(name: str, shape: tuple[int, int]):
    g = (
        torch.randn(3, *shape, generator=torch.Generator().manual_seed(7))
        * torch.tensor([1e-6, 1.0, 1e4])[:, None, None]
    )
    u, s, v = torch.linalg.svd(g, full_matrices=False)
    orthogonal = ITERATIONS[name](g)
    assert orthogonal.dtype == g.dtype and orthogonal.shape == g.shape
    values = torch.linalg.svdvals(orthogonal)[s > (0.1 if "bfloat16" in name else 0.02) * s[:, :1]]
    assert float(values.min()) > (0.3 if "bfloat16" in name else 0.6) and float(values.max()) < 1.25
    for mine, exact in zip(orthogonal, u @ v, strict=True):
        assert float((mine * exact).sum() / (mine.norm() * exact.norm())) > 0.95


@pytest.mark.parametrize("name", ITERATIONS)
def test_matrices_together_are_as_one_by_one(name: str):
    for shape in ((11, 19), (19, 11)):
        stack = torch.randn(5, *shape)
        alone = torch.cat([ITERATIONS[name](matrix[None]) for matrix in stack])
        assert_close(ITERATIONS[name](stack), alone, atol=0.2 if "bfloat16" in name else 1e-5, rtol=0)
    assert not ITERATIONS[name](torch.zeros(2, 3, 2)).any()  # and not 0 / 0


def test_the_published_iteration_is_written_out_for_every_matrix_of_a_stack():
    for shape in ((11, 19), (19, 11)):
        stack = torch.randn(3, *shape, dtype=torch.float64)
        assert_close(NewtonSchulz()(stack), torch.stack([orthogonalize(matrix) for matrix in stack]))


def test_four_polynomials_of_polar_express_are_as_exact_as_five_of_jordan():
    weak = torch.randn(4, 37, 5) @ torch.randn(4, 5, 37) + 0.3 * torch.randn(4, 37, 37)  # few large singular values
    u, _, v = torch.linalg.svd(weak)

    def distance(iteration: NewtonSchulz) -> float:
        return float((iteration(weak) - u @ v).norm())

    assert distance(ITERATIONS["polar express"]) < distance(ITERATIONS["jordan"])
    assert distance(NewtonSchulz(polar_express(4))) > distance(ITERATIONS["polar express"])  # what the bound brings


@pytest.mark.parametrize("iterations", [3, 4, 5, 8])
def test_rounding_never_takes_a_singular_value_to_where_polynomials_explode(iterations: int):
    """One large singular value, whose bound is tight, or many that fall off: as gradients have them."""
    (u, _), (v, _) = (torch.linalg.qr(torch.randn(7, 131, 131)) for _ in range(2))
    for fall in (0.5, 1.5, 3.0, 9.0):
        g = u * torch.arange(1, 132) ** -fall @ v
        values = torch.linalg.svdvals(NewtonSchulz(polar_express(iterations), True, torch.bfloat16)(g))
        assert 0.7 < float(values.max()) < 1.3


def test_a_minimax_quintic_is_as_far_from_one_at_four_points_and_nowhere_farther():
    for low, high in ((0.01, 1.0), (0.3, 1.2), (0.8, 1.21)):
        (a, b, c), error = minimax_quintic(low, high)
        s = torch.linspace(low, high, 20_001, dtype=torch.float64)
        distance = a * s + b * s**3 + c * s**5 - 1
        assert float(distance.abs().max()) == pytest.approx(error, rel=1e-4)
        signs = distance[distance.abs() > 0.999 * error].sign()
        changes = int((signs[1:] != signs[:-1]).sum())
        assert changes == 3


def test_polynomials_of_polar_express_leave_singular_values_within_their_tolerance():
    for iterations in (1, 3, 4):
        values = torch.logspace(-4, 0, 4001, dtype=torch.float64)
        outcomes = values.clone()
        for a, b, c in polar_express(iterations):
            outcomes = a * outcomes + b * outcomes**3 + c * outcomes**5
        within = (outcomes - 1).abs() < 0.205
        assert bool(within[-1]) and bool(within[int((~within).nonzero()[-1]) + 1 :].all())
        assert float(values[within].min()) < {1: 0.3, 3: 0.016, 4: 0.0045}[iterations]


def test_heads_are_orthogonalized_alone_where_they_are_split():
    c = TrainConfig(optimizer="muon", muon_split_heads=True, muon_learning_rate=0.1, weight_decay=0.0)
    model = make_loss_module().model
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizers = optim.build_optimizers(c, model)
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
    optimizers.step(1.0)
    attention = model.decoder.layers[0].cross_attn
    prefix, heads = "decoder.layers.0.cross_attn", attention.heads
    assert heads > 1
    for name, axis in (("q_proj", 0), ("k_proj", 0), ("v_proj", 0), ("out_proj", 1)):  # what enters, what leaves
        step = before[f"{prefix}.{name}.weight"] - getattr(attention, name).weight.detach()
        parts = gradients[f"{prefix}.{name}.weight"].chunk(heads, dim=axis), step.chunk(heads, dim=axis)
        for gradient, part in zip(*parts, strict=True):
            assert_close(part, 0.1 * orthogonalize(gradient), atol=1e-4, rtol=1e-3)
    up = model.decoder.layers[0].feed_forward.up.weight
    scale = math.sqrt(max(1, up.shape[0] / up.shape[1]))
    name = "decoder.layers.0.feed_forward.up.weight"
    assert_close(before[name] - up.detach(), 0.1 * scale * orthogonalize(gradients[name]), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("settings", [{}, {"muon_polynomials": "polar-express", "muon_iterations": 3}])
def test_the_settings_of_muon_reach_its_iteration(settings: dict):
    c = TrainConfig(optimizer="muon", muon_bfloat16=bool(settings), **settings)
    _, (muon, _) = optim.build_optimizers(c, make_loss_module().model).optimizers_with_peak_lr
    expected = NewtonSchulz(polar_express(3), True, torch.bfloat16) if settings else NewtonSchulz()
    assert muon.orthogonalize == expected


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


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "muon"},
        {"optimizer": "muon", "muon_split_heads": True, "muon_bfloat16": True, "muon_polynomials": "polar-express"},
    ],
)
def test_state_handed_over_by_name_goes_on_exactly(changes: dict):
    config = TrainConfig(**changes)
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
    schedule = SCHEDULES[name](TrainConfig(warmup=10))
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
    assert (group["lr"], group["momentum"], group["weight_decay"]) == (0.05, 0.95, 0.07)
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
        iteration = NewtonSchulz(steps * (JORDAN,))
        assert_close(iteration(g[None])[0], u @ torch.diag(s) @ vt)
        assert_close(iteration(g.mT[None])[0], (u @ torch.diag(s) @ vt).mT)
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5


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
    none, one = (SCHEDULES[name](TrainConfig(warmup=warmup)) for warmup in (0, 1))
    assert none(1, 0.0) == one(1, 0.0) == 1
    assert none(2, 0.0) == one(2, 0.0)


def test_warmup_stable_decay_is_constant_until_its_last_share():
    linear, root = (warmup_stable_decay(10, 0.4, DECAY_SHAPES[name]) for name in ("linear", "1-sqrt"))
    for schedule in (linear, root):
        assert schedule(5, 0.3) == 0.5 and schedule(10, 0.3) == schedule(99, 0.6) == 1
        assert schedule(99, 1.0) == schedule(99, 1.5) == 0
    assert linear(99, 0.8) == pytest.approx(0.5) and root(99, 0.8) == pytest.approx(1 - math.sqrt(0.5))
    c = TrainConfig(schedule="wsd", decay=0.4, decay_shape="linear", warmup=10)
    assert SCHEDULES["wsd"](c)(99, 0.9) == pytest.approx(0.25) and c.decay_start == pytest.approx(0.6)
    assert TrainConfig(schedule="constant").decay_start == math.inf


def test_on_a_cpu_muon_is_our_own_and_decays_nothing_unless_told():
    p = torch.nn.Parameter(torch.ones(3, 2))
    assert Muon([p], lr=0.1).defaults == {"lr": 0.1, "momentum": 0.95, "weight_decay": 0.0, "blocks": whole}
    assert Muon([p], lr=0.1).orthogonalize == NewtonSchulz(5 * (JORDAN,), tight=False, dtype=None)
    optimizers = optim.build_optimizers(TrainConfig(optimizer="muon"), make_loss_module().model)
    assert [type(one) for one, _ in optimizers.optimizers_with_peak_lr] == [torch.optim.AdamW, Muon]
