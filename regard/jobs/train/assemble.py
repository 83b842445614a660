"""Builds the parts of a training session from a run, its settings and its data."""

import time
from collections.abc import Sequence

import torch
from torch import nn

from regard.config import Config, TrainConfig
from regard.data.batch import Batches
from regard.data.doctor import Diagnosis
from regard.data.doctor.kinds import FINDING_KINDS
from regard.data.label_doctor import LABEL_KINDS
from regard.errors import RunError
from regard.formats import Pair
from regard.hardware import available_memory
from regard.jobs.live.previews import NullPreviews, PreviewRecorder, truncate_previews
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.task import Task, TrainingData
from regard.jobs.train.estimate import estimate_corpus, measure_throughput
from regard.jobs.train.events import ComputePlan, DataPlan, Note, TrainingEvent, TrainingPlan
from regard.jobs.train.head_history import NullHeadRecorder, truncate_after
from regard.jobs.train.init_from import load_initial_weights
from regard.jobs.train.preparation import Preparation
from regard.jobs.train.rehearsal import ScoringRehearsal
from regard.jobs.train.session import TrainingSession
from regard.progress import SilentListener, report_progress_to
from regard.run import Run
from regard.tasks.loss import LossModule, RDrop
from regard.training import ema, optim
from regard.training.alarms import ThroughputMonitor, TrainingMonitor
from regard.training.checkpoint import CheckpointManager, TrainingState
from regard.training.distributed.ddp import SingleProcess
from regard.training.log import Log, NullLog
from regard.training.loop import TrainingLoop
from regard.training.planning.batch_growth import linear_growth, mean_growth
from regard.training.planning.budget import Budget
from regard.training.planning.estimate import TrainingEstimate
from regard.training.precision import Precision, resolve_precision, uses_padding_free
from regard.training.schedule import SCHEDULES
from regard.training.tracking.tracker import NullTracker, drop_later_events


def build_session(
    run: Run,
    config: Config,
    data: TrainingData,
    processes: SingleProcess,
    start_time: float,
    prepared: Preparation,
) -> tuple[TrainingSession, list[TrainingEvent]]:
    """A session that continues from the latest checkpoint, and the plan of the main process."""
    c, precision = config.train, resolve_precision(config.train.precision, processes.device)
    padding_free = uses_padding_free(c.padding_free, precision, processes.sharded)
    task = task_of(config)
    model = _build_model(run, config, data, processes, precision)
    trained_model = processes.shard_model(model)
    build_loss = task.build_loss_factory(config, data, padding_free)
    loss_module = _add_rdrop(build_loss(trained_model), c)
    checkpoints = _build_checkpoints(run, c, model, trained_model)
    state = checkpoints.load()
    batches = task.build_batches(config, data)
    previous_seconds = state.elapsed + time.perf_counter() - start_time
    loop = _build_loop(c, loss_module, batches, checkpoints, processes, precision, previous_seconds)
    if trained_model is not model:  # the full model is validated, not its shard
        loss_module = _add_rdrop(build_loss(model), c)
    estimate = estimate_corpus(config, data, measure_throughput(config), processes.world_size)
    if (c.epochs or c.tokens) and loop.budget.steps:
        steps_per_epoch = count_steps_per_epoch(c, batches, processes.world_size)
        estimate = estimate.with_batches(steps_per_epoch, loop.budget.steps, c.minutes)
    predictor = task.build_predictor(model, config, data)
    session = TrainingSession(
        run=run,
        task=task,
        config=config,
        data=data,
        processes=processes,
        model=model,
        loop=loop,
        checkpoints=checkpoints,
        validator=task.build_validator(loss_module, predictor, config, data),
        log=Log(run.log, state.log_bytes) if processes.is_main_process else NullLog(),
        tracker=_build_tracker(run, c, checkpoints, processes, state),
        head_recorder=_build_head_recorder(run, config, model, data, processes, state.step),
        previews=_build_previews(run, config, model, data, processes, state.step),
        alarms=TrainingMonitor(task.baseline_loss(config, data), c.warmup, words=task.alarm_words),
        throughput=ThroughputMonitor(estimate.tokens_per_second, task.unit),
        rehearsal=_build_rehearsal(run, task, predictor, c, data),
        state=state,
    )
    if not processes.is_main_process:
        return session, []
    plan = _plan(session, estimate, precision, padding_free, prepared)
    alone = Note("train.shard=true needs several processes (torchrun); with one it changes nothing")
    notes = [alone] if c.shard and processes.world_size == 1 else []
    return session, [plan, *notes, *map(Note, task.plan_notes(config, data))]


def count_steps_per_epoch(c: TrainConfig, batches: Batches, world_size: int) -> float:
    """Optimizer steps of an epoch, by the batches of the first one; the mean where batches grow."""
    return batches.count_batches() / (c.accumulate_batches * mean_growth(c.batch_growth) * world_size)


def compute_last_step(c: TrainConfig, batches: Batches, world_size: int) -> int | None:
    """The last step, by whichever of steps, epochs and tokens ends first; None where the time alone decides."""
    candidates = [c.last_step] if c.last_step else []
    if c.epochs or c.tokens:
        corpus = batches.corpus
        tokens_per_epoch = len(corpus.target_ids.values) + len(corpus)  # EOS included
        steps_per_epoch = count_steps_per_epoch(c, batches, world_size)
        epochs = [epochs for epochs in (c.epochs, c.tokens and c.tokens / tokens_per_epoch) if epochs]
        candidates.append(max(1, round(min(epochs) * steps_per_epoch)))
    return min(candidates, default=None)


def _build_loop(
    c: TrainConfig,
    loss_module: LossModule,
    batches: Batches,
    checkpoints: CheckpointManager,
    processes: SingleProcess,
    precision: Precision,
    previous_seconds: float,
) -> TrainingLoop:
    return TrainingLoop(
        loss_module=loss_module,
        batches=batches,
        optimizers=checkpoints.optimizers,
        schedule=SCHEDULES[c.schedule](c),
        budget=Budget(
            steps=compute_last_step(c, batches, processes.world_size),
            minutes=c.minutes,
            previous_seconds=previous_seconds,
        ),
        ema=checkpoints.ema,
        processes=processes,
        accumulate_batches=c.accumulate_batches,
        clip_grad_norm=c.clip_grad_norm,
        seed=c.seed,
        precision=precision.context,
        batch_growth=linear_growth(c.batch_growth),
    )


def _build_model(
    run: Run, config: Config, data: TrainingData, processes: SingleProcess, precision: Precision
) -> nn.Module:
    task = task_of(config)
    task.require_memory(config, data)
    model = task.build_model(config, data).to(processes.full_model_device, precision.weight_dtype)
    if run.initial_weights.exists():
        load_initial_weights(model, run)
    return model


def _add_rdrop(loss_module: LossModule, c: TrainConfig) -> LossModule:
    return RDrop(loss_module, c.rdrop) if c.rdrop else loss_module


def _build_checkpoints(run: Run, c: TrainConfig, model: nn.Module, trained_model: nn.Module) -> CheckpointManager:
    average, optimizers = ema.build_ema(trained_model, c.ema), optim.build_optimizers(c, trained_model)
    checkpoints = CheckpointManager(run, model, optimizers, average, c.save_every, c.average_checkpoints)
    if trained_model is model:
        return checkpoints
    from regard.training.distributed.fsdp import FSDPCheckpoints  # slow to import, and rarely needed

    return FSDPCheckpoints(**vars(checkpoints), sharded_model=trained_model)


def _build_head_recorder(
    run: Run, config: Config, model: nn.Module, data: TrainingData, processes: SingleProcess, step: int
) -> NullHeadRecorder:
    if not config.train.head_stats_every or not processes.is_main_process or processes.sharded:
        return NullHeadRecorder()
    truncate_after(run.head_history, step)
    return task_of(config).build_head_recorder(run, config, model, data)


def _build_previews(
    run: Run, config: Config, model: nn.Module, data: TrainingData, processes: SingleProcess, step: int
) -> NullPreviews:
    if not processes.is_main_process:
        return NullPreviews()
    truncate_previews(run.previews, step, config.train.validate_every)
    return PreviewRecorder(run, model, task_of(config).find_attention_example(data))


def _build_rehearsal(run: Run, task: Task, predictor: object, c: TrainConfig, data: TrainingData) -> ScoringRehearsal:
    def score(pairs: Sequence[Pair]) -> object:
        with report_progress_to(SilentListener()):
            return task.evaluate(run, predictor, pairs)

    return ScoringRehearsal(score, (data.test or data.dev).pairs(), c.minutes)


def _build_tracker(
    run: Run, c: TrainConfig, checkpoints: CheckpointManager, processes: SingleProcess, state: TrainingState
) -> NullTracker:
    if not processes.is_main_process:
        return NullTracker()
    drop_later_events(run.tensorboard, state.step, state.tracked_bytes)
    if not c.track:
        return NullTracker(state.tracked_bytes)
    from regard.training.tracking.tensorboard import open_tracker  # needs a package that few have

    return open_tracker(run, c, checkpoints.optimizers, state)


def _thread_reason(config: Config, prepared: Preparation, processes: SingleProcess) -> str:
    reasons = {choice.name: choice.reason for choice in prepared.choices}
    if config.train.threads:
        return reasons.get("train.threads", "as set")
    return f"the cores divided by {processes.local_world_size} processes"


def read_diagnosis(run: Run) -> Diagnosis | None:
    """The diagnosis of the training data; None where there is none."""
    if not run.doctor.exists():
        return None
    try:
        table = run.read_json(run.doctor)
        return Diagnosis.from_dict(table, LABEL_KINDS if table.get("unit") == "texts" else FINDING_KINDS)
    except ValueError as error:
        raise RunError(f"{run.doctor}: not a diagnosis ({error}); remove it, training does without") from None


def _plan(
    session: TrainingSession,
    estimate: TrainingEstimate,
    precision: Precision,
    padding_free: bool,
    prepared: Preparation,
) -> TrainingPlan:
    """What will be trained, on what, and how long that takes."""
    run, config, data, processes = session.run, session.config, session.data, session.processes
    corpora = {"train": data.train, "dev": data.dev, "test": data.test}
    return TrainingPlan(
        config=config,
        data=DataPlan(
            pairs={name: len(corpus) for name, corpus in corpora.items() if corpus is not None},
            held_out=data.held_out,
            source=config.data.source,
            target=config.data.target,
            diagnosis=read_diagnosis(run),
            too_long=session.loop.batches.count_too_long(),
        ),
        vocab_size=data.vocab_size,
        estimate=estimate,
        compute=ComputePlan(
            device=str(processes.device),
            threads=torch.get_num_threads(),
            thread_reason=_thread_reason(config, prepared, processes),
            processes=processes.world_size,
            precision=str(precision),
            padding_free=padding_free,
            available_memory=available_memory(),
        ),
        choices=prepared.choices,
        preparation_seconds=prepared.seconds,
    )
