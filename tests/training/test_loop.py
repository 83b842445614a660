"""The loop is that of a PyTorch tutorial, and what is saved goes on as if it had never stopped."""

import copy
import math
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.config import PiecewiseLinear, TrainConfig
from regard.data.batch import DataPosition, TranslationCollator
from regard.data.tokenizers.tokenizer import PAD
from regard.errors import DivergedError, ModelError, RunError
from regard.model.weights import read, tensors_of
from regard.run import Run
from regard.tasks.loss import ProgressValue
from regard.training.checkpoint import CheckpointManager, TrainingState
from regard.training.distributed.ddp import SingleProcess
from regard.training.distributed.fsdp import FSDPCheckpoints
from regard.training.loop import Step, TrainingLoop, _mix_seed, require_finite
from regard.training.planning.batch_growth import linear_growth, mean_growth
from regard.training.schedule import cosine
from tests.training.loops import STEPS, make_loop, write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("store"))


def settings(**changes) -> TrainConfig:
    return TrainConfig(**{"learning_rate": 0.01, "weight_decay": 0.1, "seed": 3, "batch_tokens": 61, **changes})


def take(loop: TrainingLoop, count: int, number: int = 0, position: DataPosition | None = None) -> list[Step]:
    return list(islice(loop.steps(number, position or DataPosition()), count))


@pytest.mark.parametrize(("accumulate", "clip"), [(1, 1.0), (3, 0.01), (2, 0.0)])
def test_the_loop_is_that_of_a_tutorial(corpus, accumulate: int, clip: float):
    c = settings(accumulate_batches=accumulate, clip_grad_norm=clip)
    loop, plain = make_loop(corpus, c), make_loop(corpus, c)
    found = take(loop, 5)
    model = plain.loss_module.model
    matrices = [p for p in model.parameters() if p.ndim == 2]
    vectors = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=0.01, betas=c.betas, eps=c.epsilon)
    batches = plain.batches.iterate_from(DataPosition())
    for number, step in enumerate(found, start=1):
        group = list(islice(batches, accumulate))
        logits = [model.output(model(batch.source, batch.target_in)).flatten(0, 1) for _, batch in group]
        labels = [batch.target_out.flatten() for _, batch in group]
        rows, gold = torch.cat(logits), torch.cat(labels)
        rows, gold = rows[gold != PAD], gold[gold != PAD]
        F.cross_entropy(rows, gold, label_smoothing=0.1).backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).norm()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        rate = 0.01 * cosine(2)(number, (number - 1) / STEPS)
        for options in adam.param_groups:
            options["lr"] = rate
        adam.step()
        adam.zero_grad()
        assert (step.number, step.tokens, step.data_position) == (number, len(gold), group[-1][0])
        expected = float(F.cross_entropy(rows.detach(), gold)), float((rows.argmax(-1) == gold).double().mean())
        assert (step.loss, step.accuracy, step.grad_norm) == pytest.approx((*expected, float(norm)), rel=1e-6)
        assert step.learning_rate == pytest.approx(rate) and step.muon_learning_rate is None
        assert 0 < step.seconds < 600
    for mine, theirs in zip(loop.loss_module.model.parameters(), model.parameters(), strict=True):
        assert_close(mine, theirs, rtol=1e-6, atol=1e-9)
    assert loop.loss_module.training and max(step.accuracy for step in found) > 0


def manager(loop: TrainingLoop, folder: Path, save_every: int = 2, keep_last: int = 2) -> CheckpointManager:
    return CheckpointManager(
        Run(folder), loop.loss_module.model, loop.optimizers, loop.ema, save_every=save_every, keep_last=keep_last
    )


@pytest.mark.parametrize("ema", [0.0, 0.9])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_three_steps_and_four_are_seven_bit_for_bit(corpus, tmp_path, optimizer: str, ema: float):
    """Dropout included: it depends on the seed and the step alone."""
    c = settings(optimizer=optimizer, ema=ema, accumulate_batches=2)
    whole, parted, resumed, other = (make_loop(corpus, c, dropout=0.3) for _ in range(4))
    expected = take(whole, 7)
    first = take(parted, 3)
    state = TrainingState(3, first[-1].data_position, elapsed=1.5)
    manager(parted, tmp_path).save(state)
    assert manager(resumed, tmp_path).load() == state
    torch.manual_seed(99)  # nothing of what happens between the steps matters
    rest = take(resumed, 4, 3, first[-1].data_position)
    assert [replace(step, seconds=0) for step in (*first, *rest)] == [replace(step, seconds=0) for step in expected]
    for mine, theirs in zip(resumed.loss_module.parameters(), whole.loss_module.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    saved = read(Run(tmp_path).weights(3))
    with parted.ema.averaged_weights():
        assert all(torch.equal(saved[name], tensor) for name, tensor in tensors_of(parted.loss_module.model).items())
    raw = tensors_of(parted.loss_module.model)
    assert all(torch.equal(saved[name], tensor) for name, tensor in raw.items()) == (not ema)
    with resumed.ema.averaged_weights(), whole.ema.averaged_weights():
        for mine, theirs in zip(resumed.loss_module.parameters(), whole.loss_module.parameters(), strict=True):
            assert torch.equal(mine, theirs)
    if optimizer == "muon":
        assert expected[0].muon_learning_rate == pytest.approx(c.muon_learning_rate * cosine(2)(1, 0))
    assert [step.loss for step in take(replace(other, seed=4), 3)] != [step.loss for step in first]


def test_what_averaging_the_best_and_the_latest_need_is_kept(corpus, tmp_path):
    loop = make_loop(corpus, settings())
    checkpoints, run = manager(loop, tmp_path, save_every=10, keep_last=2), Run(tmp_path)
    state = TrainingState()
    for step in (10, 15, 20, 25, 30, 33):
        state = replace(state, step=step)
        if step == 15:
            state = state.after_validation(step, 3.0)
        checkpoints.save(state)
    assert run.saved_steps() == [15, 20, 30, 33]
    assert run.read_latest().step == 33 and [path.stem for path in (tmp_path / "resume").glob("*.json")] == [
        run.resume_state(33).stem
    ]
    assert checkpoints.paths_to_average(33) == [run.weights(30), run.weights(33)]
    assert checkpoints.paths_to_average(30) == [run.weights(20), run.weights(30)]
    (tmp_path / "weights" / "notes.txt").write_text("mine")
    (tmp_path / "weights" / f"{run.weights(40).name}").write_bytes(b"of a session that was killed")
    assert checkpoints.load() == state
    assert run.saved_steps() == [15, 20, 30, 33] and (tmp_path / "weights" / "notes.txt").exists()


def test_the_best_validation_is_the_one_of_the_lowest_cost():
    state = TrainingState(5).after_validation(10, 3.0)
    assert (state.best_step, state.best_cost, state.validations_without_improvement) == (10, 3.0, 0)
    worse = state.after_validation(20, 3.0).after_validation(30, 3.5)
    assert (worse.best_step, worse.best_cost, worse.validations_without_improvement) == (10, 3.0, 2)
    better = worse.after_validation(40, 2.9)
    assert (better.best_step, better.best_cost, better.validations_without_improvement) == (40, 2.9, 0)
    assert better.step == 5


def test_a_run_without_a_checkpoint_starts_and_one_that_lost_it_does_not(corpus, tmp_path):
    checkpoints = manager(make_loop(corpus, settings()), tmp_path)
    assert checkpoints.load() == TrainingState()
    checkpoints.save(TrainingState(3))
    run = Run(tmp_path)
    run.best.write_text("{}")
    run.latest.unlink()
    with pytest.raises(RunError, match=r"latest\.json: missing"):
        checkpoints.load()
    run.resume_state(5).write_text(run.resume_state(3).read_text())
    run.record_checksums(run.resume_state(5))
    run.best.unlink()
    run.write_json(run.latest, {"step": 5})
    with pytest.raises(RunError, match="not the state of a run at this step, but at step 3"):
        checkpoints.load()


def test_state_of_another_model_is_refused(corpus):
    loop = make_loop(corpus, settings())
    take(loop, 1)
    tensors = loop.optimizers.state_tensors()
    name = next(key for key, tensor in tensors.items() if tensor.dim())
    for changed in ({"no.such/exp_avg": tensors[name]}, {name: tensors[name][..., :1]}):
        with pytest.raises(ModelError, match="of another model"):
            loop.optimizers.restore(changed, lambda tensor, like: tensor)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_ends_the_training(corpus, number: float):
    loop = make_loop(corpus, settings())
    steps = loop.steps(0, DataPosition())
    next(steps)
    with torch.no_grad():
        loop.loss_module.model.output.weight[7] = number
    with pytest.raises(DivergedError, match=r"no longer a finite number at step 2.*lower train.learning_rate"):
        next(steps)


def test_a_sharded_model_is_saved_whole_and_loaded_into_its_shards(corpus, tmp_path):
    """Where each process has all of every weight, its shard is the weight."""
    c = settings(ema=0.9)
    loops = [make_loop(corpus, c, dropout=0.3) for _ in range(2)]

    def sharded(loop: TrainingLoop) -> FSDPCheckpoints:
        model = copy.deepcopy(loop.loss_module.model)  # of which a copy is validated and saved
        return FSDPCheckpoints(
            Run(tmp_path), model, loop.optimizers, loop.ema, 2, 2, sharded_model=loop.loss_module.model
        )

    first = take(loops[0], 3)
    saved = sharded(loops[0])
    saved.gather_shards()
    with saved.evaluation_weights() as tensors, loops[0].ema.averaged_weights():
        average = tensors_of(loops[0].loss_module.model)
        assert all(torch.equal(tensors[name], average[name]) for name in tensors)
    saved.save(TrainingState(3, first[-1].data_position))
    assert sharded(loops[1]).load() == TrainingState(3, first[-1].data_position)
    expected, found = take(loops[0], 2, 3, first[-1].data_position), take(loops[1], 2, 3, first[-1].data_position)
    assert [step.loss for step in found] == [step.loss for step in expected]
    for one, two in zip(loops[0].loss_module.parameters(), loops[1].loss_module.parameters(), strict=True):
        assert torch.equal(one, two)


def growing(corpus, last: float, **changes: object) -> TrainingLoop:
    return replace(make_loop(corpus, settings(**changes), dropout=0.3), batch_growth=linear_growth(last))


def test_batches_grow_until_the_end(corpus):
    loop = growing(corpus, 4)
    order = [position for position, _ in islice(loop.batches.iterate_from(DataPosition()), 99)]
    steps = take(loop, STEPS)
    read = [order.index(step.data_position) + 1 for step in steps]
    counts = [after - before for before, after in pairwise([0, *read])]
    assert counts == sorted(counts) and (counts[0], counts[-1]) == (1, 4)
    assert sum(counts) == pytest.approx(STEPS * mean_growth(4), rel=0.15)
    plain = [step.data_position for step in take(make_loop(corpus, settings(accumulate_batches=2)), 3)]
    assert [step.data_position for step in take(growing(corpus, 1, accumulate_batches=2), 3)] == plain


def test_three_steps_and_four_are_seven_where_batches_grow(corpus):
    expected, parted = take(growing(corpus, 3), 7), growing(corpus, 3)
    first = take(parted, 3)
    rest = take(parted, 4, 3, first[-1].data_position)
    assert [replace(step, seconds=0) for step in (*first, *rest)] == [replace(step, seconds=0) for step in expected]


def test_noise_that_begins_later_begins_at_the_same_step_again(corpus):
    def late(start: float) -> TrainingLoop:
        loop = make_loop(corpus, settings())
        collator = TranslationCollator(corpus[1], 0.5, 64)
        batches = replace(loop.batches, collator=collator, early_collator=loop.batches.collator, early_until=start)
        return replace(loop, batches=batches)

    plain = [step.tokens for step in take(make_loop(corpus, settings()), 7)]
    always = [step.tokens for step in take(late(0.0), 7)]
    expected = take(late(0.5), 7)
    assert [step.tokens for step in expected] == [*plain[:4], *always[4:]] and plain[4] != always[4]
    parted = late(0.5)
    first = take(parted, 3)
    rest = take(parted, 4, 3, first[-1].data_position)
    assert [replace(step, seconds=0) for step in (*first, *rest)] == [replace(step, seconds=0) for step in expected]


class RecordingProcess(SingleProcess):
    """Two processes of which the other one is silent: gradients are not averaged, and sums are its own."""

    def __init__(self, world_size: int):
        super().__init__(torch.device("cpu"))
        self.world_size = world_size
        self.last: list[bool] = []

    def sync_gradients(self, loss_module, last):
        self.last.append(last)
        return super().sync_gradients(loss_module, last)


def test_gradients_are_exchanged_with_the_last_batch_of_a_step(corpus):
    processes = RecordingProcess(1)
    take(replace(make_loop(corpus, settings(accumulate_batches=3)), processes=processes), 2)
    assert processes.last == [False, False, True] * 2


def test_of_two_processes_each_takes_its_half_of_the_batches_and_scales_for_the_mean(corpus):
    """DDP would average gradients over both: each is twice as large, and dropout differs between the two."""
    alone, pair = make_loop(corpus, settings(accumulate_batches=2)), make_loop(corpus, settings())
    processes = RecordingProcess(2)
    batches = [batch for _, batch in islice(pair.batches.iterate_from(DataPosition(), 0, 2), 2) if batch is not None]
    step = take(replace(pair, processes=processes), 1)[0]
    assert processes.last == [True] and step.tokens == batches[0].num_targets
    assert step.data_position == take(alone, 1)[0].data_position
    single = make_loop(corpus, settings())
    single._backward(single.loss_module, batches)
    assert step.grad_norm == pytest.approx(2 * single._clip_gradients())


def test_dropout_differs_between_steps_and_processes(corpus, monkeypatch):
    seeds = []
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    loop = make_loop(corpus, settings())
    seeds.clear()
    for rank in range(3):
        processes = RecordingProcess(3)
        processes.rank = rank
        take(replace(loop, processes=processes), 4)
    assert len(set(seeds)) == len(seeds) == 12 and all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)


def test_every_number_of_a_step_must_be_finite():
    require_finite(3, 1.0, -2.0)
    for values in ((math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0), (1.0, -math.inf)):
        with pytest.raises(DivergedError, match="no longer a finite number at step 3"):
            require_finite(3, *values)


def test_seeds_of_neighbors_are_far_apart():
    for seed, number in ((1, 1), (3, 7), (0, 5)):
        mixed = _mix_seed(seed, number)
        assert min(abs(mixed - _mix_seed(*other)) for other in ((seed + 1, number), (seed, number + 1))) > 2**40


def test_settings_follow_the_progress_of_the_loop(corpus):
    """Label smoothing of each step is that of the progress before it."""
    loop = make_loop(corpus, settings())
    smoothing = ProgressValue(PiecewiseLinear(((0.0, 0.7), (1.0, 0.0))))
    loop.loss_module.loss.smoothing = smoothing
    values = []
    for _ in islice(loop.steps(0, DataPosition()), STEPS):
        values.append(loop.loss_module.loss.label_smoothing)
    assert values == pytest.approx([0.7 - 0.1 * n for n in range(STEPS)])
