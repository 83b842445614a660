"""Training: files -> a run folder that translates."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from regard import config as settings
from regard import run as runs
from regard.config import Config, TrainConfig
from regard.errors import BusyError, ConfigError, RunError, WriteError
from regard.exchange import recover
from regard.files import resolve
from regard.hardware import ThreadChoice, pick_device, retain_freed_memory, set_threads
from regard.jobs.tasks.registry import task_of
from regard.jobs.train.assemble import build_session
from regard.jobs.train.estimate import choose_missing_settings, require_memory
from regard.jobs.train.events import Note, TrainingEvent
from regard.jobs.train.init_from import copy_init_files, describe_initial_weights, inherit_settings
from regard.jobs.train.preparation import Preparation
from regard.jobs.train.session import StopCallback
from regard.run import LatestCheckpoint, Run
from regard.staged_run import stage_run
from regard.training.checkpoint import step_before_decay
from regard.training.distributed.ddp import MultiProcess, SingleProcess, init_processes, launch_id, local_rank
from regard.training.planning.sizing import SuggestedSetting
from regard.training.tracking.tracker import require_installed

__all__ = ["StopCallback", "resume_run", "train_run"]

GRACE_SECONDS = 20.0  # for the main process to report its error before torchrun ends all processes
END_SETTINGS = ("steps", "minutes", "epochs", "tokens")
FREE_SETTINGS = ("track", "track_histograms", "threads")  # which change what is learnt by rounding at most


def train_run(
    folder: Path, config: Config, overwrite: bool, should_stop: StopCallback, init_from: Path | None = None
) -> Iterator[TrainingEvent]:
    """Train a new run, with random weights or with those of another run."""
    task_of(config).require_files(config)
    require_installed(config.train.track)
    with _join_processes(config) as processes, contextlib.ExitStack() as exit_stack:
        # torchrun restarts all processes when one has died.
        if processes.broadcast(processes.is_main_process and _created_by_this_launch(folder)):
            run = runs.open_run(folder)
            yield from _continue_training(run, run.load_config(), should_stop, processes)
            return
        start_time = time.perf_counter()
        prepared = _run_on_main_process(
            processes, should_stop, lambda: _create_run(folder, config, overwrite, init_from, processes, exit_stack)
        )
        run = runs.open_run(folder)
        yield from _train(run, run.load_config(), should_stop, processes, start_time, prepared)


def _created_by_this_launch(folder: Path) -> bool:
    """Whether the run there was created by the torchrun that started this process."""
    run = Run(folder)
    return bool(launch_id()) and runs.is_run(folder) and run.read_json(run.versions).get("launch") == launch_id()


def _create_run(
    folder: Path,
    config: Config,
    overwrite: bool,
    init_from: Path | None,
    processes: SingleProcess,
    exit_stack: contextlib.ExitStack,
) -> Preparation:
    """Create the run folder with everything that training needs, and lock it until the exit stack is closed."""
    staged = exit_stack.enter_context(stage_run(folder, overwrite))
    if init_from:
        if resolve(init_from) == resolve(folder):
            raise ConfigError(
                f"{folder}: a run cannot be initialized from itself and overwritten; choose another --out"
            )
        config = inherit_settings(runs.open_run(init_from), config)
    elif "model.architecture" not in settings.explicit_settings(config):
        config = settings.with_values(config, {"model.architecture": settings.TASK_ARCHITECTURES[config.task][0]})
    _require_architecture(config)
    staged.write_settings(config)
    prepared = _prepare_run(staged.run, config, processes)
    staged.commit()
    return prepared


def _require_architecture(config: Config) -> None:
    architectures = settings.TASK_ARCHITECTURES[config.task]
    if config.model.architecture not in architectures:
        reason = settings.ARCHITECTURE_REASONS.get((config.task, config.model.architecture))
        raise ConfigError(
            f"model.architecture={config.model.architecture}: --task {config.task} trains models of the architecture "
            f"{' or '.join(architectures)}{f' ({reason})' if reason else ''}; leave it out, or use --from with a run "
            f"of that architecture"
        )


def resume_run(folder: Path, values: Mapping[str, Any], should_stop: StopCallback) -> Iterator[TrainingEvent]:
    """Resume a run from its latest checkpoint; only the length of training, tracking and threads may change."""
    run = runs.open_run(folder)
    config = _resumed_config(run, values)
    is_as_long = _without(config, FREE_SETTINGS) == _without(run.load_config(), FREE_SETTINGS)
    if is_as_long and run.finished() and run.best.exists():
        run.remove_temporary_files()  # a kill may have come while another command wrote into the run
        yield Note(f"{folder} is already finished. Give more --steps or --minutes to continue training.")
        return
    require_installed(config.train.track)
    with _join_processes(config) as processes:
        yield from _continue_training(run, config, should_stop, processes)


def _resumed_config(run: Run, values: Mapping[str, Any]) -> Config:
    """The settings of a run that is resumed with other values."""
    old_config, folder = run.load_config(), run.folder
    if not old_config.data.train:
        raise RunError(
            f"{folder}: was imported or pruned, not trained, so it cannot be resumed. "
            f"Fine-tune it in a new run: regard train FILES --from {folder} --out …"
        )
    config = settings.with_values(old_config, values)
    changeable = (*END_SETTINGS, *FREE_SETTINGS)
    if _without(config, changeable) != _without(old_config, changeable):
        raise ConfigError(
            f"{folder}: only train.steps, minutes, epochs, tokens, threads, track and track_histograms may change when "
            f"a run is resumed; for other settings train a new run with --out"
        )
    return config


def _continue_training(
    run: Run, config: Config, should_stop: StopCallback, processes: SingleProcess
) -> Iterator[TrainingEvent]:
    start_time, old_config, finished = time.perf_counter(), run.load_config(), run.finished()
    processes.barrier()  # all processes have read the state before it changes
    with contextlib.ExitStack() as exit_stack:

        def reopen() -> Preparation:
            exit_stack.enter_context(runs.lock(run))
            if (run.load_config(), run.finished()) != (old_config, finished):
                raise BusyError(f"{run.folder}: was changed by another process meanwhile. Start again.")
            return _reopen_run(run, config, processes)

        prepared = _run_on_main_process(processes, should_stop, reopen)
        yield from _train(run, run.load_config(), should_stop, processes, start_time, prepared, extended=finished)


def _reopen_run(run: Run, config: Config, processes: SingleProcess) -> Preparation:
    run.require_no_links()
    recover(run.folder)
    run.remove_temporary_files()
    notes: list[str] = []
    if run.latest.exists():
        step = run.read_latest().step
        stable_step = step_before_decay(run) if _has_another_end(run, config) else None
        if stable_step is not None and stable_step < step:
            notes.append(
                f"the learning rate has decayed since step {stable_step:,}: training resumes from there, to decay at "
                f"its new end"
            )
            step = stable_step
        run.write_latest(LatestCheckpoint(step, finished=False))
    runs.write_text(run.config, settings.dump(config))
    prepared = _prepare_run(run, config, processes)
    return replace(prepared, notes=(*notes, *prepared.notes))


def _has_another_end(run: Run, config: Config) -> bool:
    """Whether a run is resumed to end elsewhere than it was planned to."""
    other = [name for name in TrainConfig.model_fields if name not in END_SETTINGS]
    return _without(config, other) != _without(run.load_config(), other)


def _run_on_main_process(
    processes: SingleProcess, should_stop: StopCallback, task: Callable[[], Preparation]
) -> Preparation:
    """Run a task on the main process; the others wait, and end if it fails."""
    if not processes.is_main_process:
        if not processes.broadcast(False):
            _wait_for_main_process(should_stop)
            raise RunError("the main process could not start training; see its error message")
        return Preparation()
    try:
        prepared = task()
    except BaseException:
        with contextlib.suppress(RuntimeError):  # other processes may have ended
            processes.broadcast(False)
        raise
    processes.broadcast(True)
    return prepared


def _wait_for_main_process(should_stop: StopCallback) -> None:
    end = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < end and not should_stop():
        time.sleep(0.1)


@contextlib.contextmanager
def _join_processes(config: Config) -> Iterator[SingleProcess]:
    """The processes that train together, each on its device, inside the block."""
    process_class: type[MultiProcess] = MultiProcess
    if config.train.shard:
        if config.train.optimizer == "muon":
            raise ConfigError(
                "train.shard=true and train.optimizer=muon: Muon needs full matrices; use train.optimizer=adamw"
            )
        from regard.training.distributed.fsdp import FSDPProcess  # slow to import, and rarely needed

        process_class = FSDPProcess
    processes = init_processes(pick_device(config.train.device, local_rank()), process_class)
    try:
        yield processes
    finally:
        processes.close()


def _without(config: Config, train_settings: Iterable[str]) -> Config:
    """The config, to be compared with another one regardless of these settings of training."""
    train_config = config.train.model_copy(update=dict.fromkeys(train_settings))
    return config.model_copy(update={"train": train_config})


def _prepare_run(run: Run, config: Config, processes: SingleProcess) -> Preparation:
    """Everything before the first step, done once: files of the initial run, texts, settings, tokens."""
    notes: list[str] = []
    runs.write_versions(run, launch_id())
    if config.train.init_from and not run.has_checksum(run.initial_weights):
        notes += copy_init_files(runs.open_run(Path(config.train.init_from)), run)
    start_time, task = time.perf_counter(), task_of(config)
    task.write_texts(run, config)
    threads = set_threads(config.train.threads, processes.local_world_size)
    config, choices = _choose_settings(run, config, threads, processes.world_size)
    task.tokenize(run, config)
    data = task.open_data(run, config)
    require_memory(config, data.vocab_size, data.output_size)
    if config.train.init_from:
        notes += describe_initial_weights(task.build_model(config, data), run)
    return Preparation((*notes, *data.notes), tuple(choices), time.perf_counter() - start_time)


def _train(
    run: Run,
    config: Config,
    should_stop: StopCallback,
    processes: SingleProcess,
    start_time: float,
    prepared: Preparation,
    extended: bool = False,
) -> Iterator[TrainingEvent]:
    set_threads(config.train.threads, processes.local_world_size)
    try:
        data = task_of(config).open_data(run, config)
        session, plan = build_session(run, config, data, processes, start_time, prepared)
        retain_freed_memory()  # only now: the memory of preparing is returned to the system
        if extended:  # patience starts anew
            session.state = replace(session.state, validations_without_improvement=0)
        yield from map(Note, prepared.notes)
        yield from plan
        with contextlib.closing(session.log), contextlib.closing(session.tracker):
            yield from session.train(should_stop)
    except (MemoryError, torch.OutOfMemoryError):
        batch = f"train.batch_tokens (now {config.train.batch_tokens:,})"
        raise ConfigError(
            f"{run.folder}: {processes.device} has too little memory for this model; lower {batch} or model.dim"
        ) from None
    except (OSError, WriteError) as error:  # a full disk, most likely
        message = str(error) if isinstance(error, WriteError) else f"{run.folder}: {error.strerror or error}"
        raise RunError(
            f"{message}. The last checkpoint is intact; free some space, then continue with --resume {run.folder}."
        ) from None


def _choose_settings(
    run: Run, config: Config, threads: ThreadChoice, world_size: int
) -> tuple[Config, list[SuggestedSetting]]:
    """The settings, with a choice for each one that the user has not set, written into the run."""
    config, choices = choose_missing_settings(config, task_of(config).measure_texts(run, config), world_size)
    if not config.train.threads and world_size == 1:  # recorded, so that a resumed run rounds in the same way
        choices = [*choices, SuggestedSetting("train.threads", threads.threads, threads.reason)]
        config = settings.with_values(config, {"train.threads": threads.threads})
    runs.write_text(run.config, settings.dump(config))
    return config, choices
