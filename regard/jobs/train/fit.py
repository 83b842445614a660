"""Train: files -> a run folder that translates."""

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import torch

from regard import config as settings
from regard import run as runs
from regard.config import Config
from regard.errors import ConfigError, RunError, WriteError
from regard.hardware import retain_freed_memory
from regard.jobs.load import pick_device, set_threads
from regard.jobs.train.estimate import choose_missing_settings, describe_choices, require_memory
from regard.jobs.train.events import Note, TrainingEvent
from regard.jobs.train.init_from import copy_init_files, inherit_settings
from regard.jobs.train.prepare import measure_training_text, tokenize_corpora, write_texts
from regard.jobs.train.session import StopCallback, TrainingSession
from regard.jobs.versions import collect_versions
from regard.run import Run
from regard.training.distributed.ddp import MultiProcess, SingleProcess, init_processes, launch_id, local_rank

__all__ = ["StopCallback", "resume_run", "train_run"]

MIN_REPORTED_SECONDS = 10.0  # seconds
GRACE_SECONDS = 20.0  # seconds that the others leave the first process to say why; torchrun ends them as soon as it has
END_SETTINGS = ("steps", "minutes", "epochs", "tokens")


def train_run(
    folder: Path, config: Config, overwrite: bool, should_stop: StopCallback, init_from: Path | None = None
) -> Iterator[TrainingEvent]:
    """Train a new run, from nothing or from what another run has learnt."""
    if not config.data.train:
        raise ConfigError("nothing to train on: give two aligned text files, a .tsv, .tmx or .po, or set data.train")
    with _join_processes(config) as ranks:
        if ranks.broadcast(
            ranks.is_main_process and _created_by_this_launch(folder)
        ):  # a process has died, and all were started again
            run = runs.open_run(folder)
            yield from _continue_training(run, run.load_config(), should_stop, ranks)
            return
        start_time = time.perf_counter()
        yield from map(
            Note,
            _run_on_main_process(ranks, should_stop, lambda: _create_run(folder, config, overwrite, init_from, ranks)),
        )
        run = runs.open_run(folder)
        with _lock_run(run, ranks):
            yield from _train(run, run.load_config(), should_stop, ranks, start_time)


def _created_by_this_launch(folder: Path) -> bool:
    """Whether the run there was made by the same torchrun that has started this process."""
    run = Run(folder)
    return bool(launch_id()) and runs.is_run(folder) and run.read_json(run.versions).get("launch") == launch_id()


def _create_run(
    folder: Path, config: Config, overwrite: bool, init_from: Path | None, ranks: SingleProcess
) -> list[str]:
    """The run folder with everything that training needs; what there is to say about it."""
    runs.require_free(folder, overwrite)
    if init_from:
        if init_from.resolve() == folder.resolve():
            raise ConfigError(f"{folder}: a run cannot begin with itself and replace itself; choose another --out")
        _require_translator(runs.open_run(init_from).load_config())
        config = inherit_settings(runs.open_run(init_from), config)
    _require_translator(config)
    staged_run = runs.stage(folder, config)
    try:
        notes = _prepare_run(staged_run, config, ranks)
    except BaseException:
        runs.discard(staged_run)
        raise
    runs.commit(staged_run, folder)
    return notes


def _require_translator(config: Config) -> None:
    if config.model.architecture != "encoder-decoder":
        raise ConfigError(
            f"model.architecture={config.model.architecture}: `regard train` trains translators, which have an encoder "
            f"and a decoder; leave it out, or begin --from a run that translates"
        )


def resume_run(folder: Path, overrides: list[str], should_stop: StopCallback) -> Iterator[TrainingEvent]:
    """Go on with a run where it was stopped; only its end may change."""
    run = runs.open_run(folder)
    old_config = run.load_config()
    if not old_config.data.train:
        raise RunError(
            f"{folder}: was imported, not trained here, so there is nothing to go on with. "
            f"Begin a new run with what it knows: regard train FILES --from {folder} --out …"
        )
    config = settings.override(old_config, overrides)
    if _without_end_settings(config) != _without_end_settings(old_config):
        raise ConfigError(
            f"{folder}: only train.steps, minutes, epochs and tokens may change when a run goes on; "
            f"for other settings train a new run with --out"
        )
    if config == old_config and run.finished() and run.best.exists():
        yield Note(f"{folder} is already finished. Give more --steps or --minutes to train on.")
        return
    with _join_processes(config) as ranks:
        yield from _continue_training(run, config, should_stop, ranks)


def _continue_training(
    run: Run, config: Config, should_stop: StopCallback, ranks: SingleProcess
) -> Iterator[TrainingEvent]:
    start_time, finished = time.perf_counter(), run.finished()
    ranks.barrier()  # until everybody has looked, before it changes
    with contextlib.ExitStack() as exit_stack:
        yield from map(
            Note, _run_on_main_process(ranks, should_stop, lambda: _reopen_run(run, config, ranks, exit_stack))
        )
        yield from _train(run, run.load_config(), should_stop, ranks, start_time, extended=finished)


def _reopen_run(run: Run, config: Config, ranks: SingleProcess, exit_stack: contextlib.ExitStack) -> list[str]:
    exit_stack.enter_context(runs.lock(run))
    run.remove_temporary_files()
    if run.latest.exists():  # whatever was finished is no longer so
        run.write_json(run.latest, {"step": run.read_json(run.latest)["step"]})
    runs.write_text(run.config, settings.dump(config))
    return _prepare_run(run, config, ranks)


def _run_on_main_process(ranks: SingleProcess, should_stop: StopCallback, task: Callable[[], list[str]]) -> list[str]:
    """What the first process does for all; the others wait, and end with it where it fails."""
    if not ranks.is_main_process:
        if not ranks.broadcast(False):
            _wait_for_main_process(should_stop)
            raise RunError("the first process could not begin; it says why")
        return []
    try:
        notes = task()
    except BaseException:
        with contextlib.suppress(RuntimeError):  # whoever is gone need not be told
            ranks.broadcast(False)
        raise
    ranks.broadcast(True)
    return notes


def _wait_for_main_process(should_stop: StopCallback) -> None:
    end = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < end and not should_stop():
        time.sleep(0.1)


@contextlib.contextmanager
def _join_processes(config: Config) -> Iterator[SingleProcess]:
    """The processes that train together, on their devices, for as long as they do."""
    process_class: type[MultiProcess] = MultiProcess
    if config.train.shard:
        if config.train.optimizer == "muon":
            raise ConfigError("train.shard=true and train.optimizer=muon: Muon needs whole matrices; take adamw")
        from regard.training.distributed.fsdp import FSDPProcess  # which is slow to import, and rarely wanted

        process_class = FSDPProcess
    ranks = init_processes(pick_device(config.train.device, local_rank()), process_class)
    try:
        yield ranks
    finally:
        ranks.close()


def _lock_run(run: Run, ranks: SingleProcess) -> AbstractContextManager[None]:
    return runs.lock(run) if ranks.is_main_process else contextlib.nullcontext()


def _without_end_settings(config: Config) -> Config:
    train_config = config.train.model_copy(update=dict.fromkeys(END_SETTINGS))
    return config.model_copy(update={"train": train_config})


def _prepare_run(run: Run, config: Config, ranks: SingleProcess) -> list[str]:
    """Everything before the first step: what is taken from another run, texts, choices, pieces. Done once."""
    notes: list[str] = []
    run.write_json(run.versions, collect_versions() | ({"launch": launch_id()} if launch_id() else {}))
    if config.train.init_from and not run.has_checksum(run.initial_weights):
        notes += copy_init_files(runs.open_run(Path(config.train.init_from)), run)
    start_time = time.perf_counter()
    write_texts(run, config)
    set_threads(config.train.threads, ranks.local_world_size)
    config, choices = _choose_settings(run, config, ranks.world_size)
    data = tokenize_corpora(run, config)
    require_memory(config, data.tokenizers.target.vocab_size)
    seconds = time.perf_counter() - start_time
    speed_note = f"prepared in {seconds:,.0f} s, {len(data.train) / seconds:,.0f} pairs a second"
    return [*notes, *data.notes, *([speed_note] if seconds > MIN_REPORTED_SECONDS else []), *choices]


def _train(
    run: Run, config: Config, should_stop: StopCallback, ranks: SingleProcess, start_time: float, extended: bool = False
) -> Iterator[TrainingEvent]:
    threads = set_threads(config.train.threads, ranks.local_world_size)
    try:
        session = TrainingSession(run, config, tokenize_corpora(run, config), ranks, start_time)
        retain_freed_memory()  # not before: what preparing takes goes back to the system
        if extended:  # whoever trains on has decided that patience begins anew
            session.state = replace(session.state, validations_without_improvement=0)
        if ranks.is_main_process:
            yield from session.notes()
            yield from map(Note, session.estimate.lines())
            yield Note(_describe_compute(session, threads))
            if config.train.shard and ranks.world_size == 1:
                yield Note("train.shard=true: is for several processes (torchrun); alone it changes nothing")
        with contextlib.closing(session.log):
            yield from session.train(should_stop)
    except (MemoryError, torch.OutOfMemoryError):
        batch = f"train.batch_tokens (now {config.train.batch_tokens:,})"
        raise ConfigError(
            f"{run.folder}: {ranks.device} has too little memory for this model; lower {batch} or model.dim"
        ) from None
    except (OSError, WriteError) as error:  # a full disk, most likely
        message = str(error) if isinstance(error, WriteError) else f"{run.folder}: {error.strerror or error}"
        raise RunError(
            f"{message}. What was saved is whole; make room, then go on with --resume {run.folder}."
        ) from None


def _describe_compute(session: TrainingSession, threads: int) -> str:
    """On what and how training is computed."""
    ranks, requested_threads = session.ranks, session.config.train.threads
    reason = (
        "as asked for"
        if requested_threads
        else "one a core"
        if ranks.local_world_size == 1
        else f"the cores shared by {ranks.local_world_size}"
    )
    padding = (
        "real tokens alone (train.padding_free=packed)"
        if session.padding_free
        else "padded batches (train.padding_free=plain)"
    )
    processes = f"{ranks.world_size} processes on " if ranks.world_size > 1 else "on "
    plural = "s" if threads > 1 else ""
    return f"{processes}{ranks.device} with {threads} thread{plural} ({reason}), {session.precision}, {padding}"


def _choose_settings(run: Run, config: Config, world_size: int) -> tuple[Config, list[str]]:
    """The settings with everything chosen that nobody has given, written into the run, and what was chosen and why."""
    pairs, source, target = measure_training_text(run)
    config, choices = choose_missing_settings(config, pairs, (source, target), world_size)
    runs.write_text(run.config, settings.dump(config))
    return config, list(describe_choices(choices))
