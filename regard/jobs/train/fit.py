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
from regard.jobs.train.estimate import require_memory, sized, told
from regard.jobs.train.events import Event, Note
from regard.jobs.train.init_from import inherit, take
from regard.jobs.train.prepare import facts_of, write_pieces, write_texts
from regard.jobs.train.session import Session, Stop
from regard.jobs.versions import versions
from regard.run import Run
from regard.training.distributed.ddp import MultiProcess, SingleProcess, init_processes, launch_id, local_rank

__all__ = ["Stop", "fit", "resume"]

WORTH_TELLING = 10.0  # seconds
COURTESY = 20.0  # seconds that the others leave the first process to say why; torchrun ends them as soon as it has
ENDS = ("steps", "minutes", "epochs", "tokens")


def fit(folder: Path, config: Config, overwrite: bool, stop: Stop, origin: Path | None = None) -> Iterator[Event]:
    """Train a new run, from nothing or from what another run has learnt."""
    if not config.data.train:
        raise ConfigError("nothing to train on: give two aligned text files, a .tsv, .tmx or .po, or set data.train")
    with _met(config) as ranks:
        if ranks.broadcast(ranks.is_main_process and _ours(folder)):  # a process has died, and all were started again
            run = runs.open_run(folder)
            yield from _go_on(run, run.load_config(), stop, ranks)
            return
        begun = time.perf_counter()
        yield from map(Note, _led(ranks, stop, lambda: _make(folder, config, overwrite, origin, ranks)))
        run = runs.open_run(folder)
        with _alone(run, ranks):
            yield from _train(run, run.load_config(), stop, ranks, begun)


def _ours(folder: Path) -> bool:
    """Whether the run there was made by the same torchrun that has started this process."""
    run = Run(folder)
    return bool(launch_id()) and runs.is_run(folder) and run.read_json(run.versions).get("launch") == launch_id()


def _make(folder: Path, config: Config, overwrite: bool, origin: Path | None, ranks: SingleProcess) -> list[str]:
    """The run folder with everything that training needs; what there is to say about it."""
    runs.require_free(folder, overwrite)
    if origin:
        if origin.resolve() == folder.resolve():
            raise ConfigError(f"{folder}: a run cannot begin with itself and replace itself; choose another --out")
        _require_translator(runs.open_run(origin).load_config())
        config = inherit(runs.open_run(origin), config)
    _require_translator(config)
    making = runs.stage(folder, config)
    try:
        notes = _prepare(making, config, ranks)
    except BaseException:
        runs.discard(making)
        raise
    runs.commit(making, folder)
    return notes


def _require_translator(config: Config) -> None:
    if config.model.architecture != "encoder-decoder":
        raise ConfigError(
            f"model.architecture={config.model.architecture}: `regard train` trains translators, which have an encoder "
            f"and a decoder; leave it out, or begin --from a run that translates"
        )


def resume(folder: Path, changes: list[str], stop: Stop) -> Iterator[Event]:
    """Go on with a run where it was stopped; only its end may change."""
    run = runs.open_run(folder)
    old = run.load_config()
    if not old.data.train:
        raise RunError(
            f"{folder}: was imported, not trained here, so there is nothing to go on with. "
            f"Begin a new run with what it knows: regard train FILES --from {folder} --out …"
        )
    config = settings.override(old, changes)
    if _without_end(config) != _without_end(old):
        raise ConfigError(
            f"{folder}: only train.steps, minutes, epochs and tokens may change when a run goes on; "
            f"for other settings train a new run with --out"
        )
    if config == old and run.finished() and run.best.exists():
        yield Note(f"{folder} is already finished. Give more --steps or --minutes to train on.")
        return
    with _met(config) as ranks:
        yield from _go_on(run, config, stop, ranks)


def _go_on(run: Run, config: Config, stop: Stop, ranks: SingleProcess) -> Iterator[Event]:
    begun, finished = time.perf_counter(), run.finished()
    ranks.barrier()  # until everybody has looked, before it changes
    with contextlib.ExitStack() as held:
        yield from map(Note, _led(ranks, stop, lambda: _reopen(run, config, ranks, held)))
        yield from _train(run, run.load_config(), stop, ranks, begun, extended=finished)


def _reopen(run: Run, config: Config, ranks: SingleProcess, held: contextlib.ExitStack) -> list[str]:
    held.enter_context(runs.lock(run))
    run.remove_temporary_files()
    if run.latest.exists():  # whatever was finished is no longer so
        run.write_json(run.latest, {"step": run.read_json(run.latest)["step"]})
    runs.write_text(run.config, settings.dump(config))
    return _prepare(run, config, ranks)


def _led(ranks: SingleProcess, stop: Stop, work: Callable[[], list[str]]) -> list[str]:
    """What the first process does for all; the others wait, and end with it where it fails."""
    if not ranks.is_main_process:
        if not ranks.broadcast(False):
            _linger(stop)
            raise RunError("the first process could not begin; it says why")
        return []
    try:
        notes = work()
    except BaseException:
        with contextlib.suppress(RuntimeError):  # whoever is gone need not be told
            ranks.broadcast(False)
        raise
    ranks.broadcast(True)
    return notes


def _linger(stop: Stop) -> None:
    end = time.monotonic() + COURTESY
    while time.monotonic() < end and not stop():
        time.sleep(0.1)


@contextlib.contextmanager
def _met(config: Config) -> Iterator[SingleProcess]:
    """The processes that train together, on their devices, for as long as they do."""
    many: type[MultiProcess] = MultiProcess
    if config.train.shard:
        if config.train.optimizer == "muon":
            raise ConfigError("train.shard=true and train.optimizer=muon: Muon needs whole matrices; take adamw")
        from regard.training.distributed.fsdp import FSDPProcess  # which is slow to import, and rarely wanted

        many = FSDPProcess
    ranks = init_processes(pick_device(config.train.device, local_rank()), many)
    try:
        yield ranks
    finally:
        ranks.close()


def _alone(run: Run, ranks: SingleProcess) -> AbstractContextManager[None]:
    return runs.lock(run) if ranks.is_main_process else contextlib.nullcontext()


def _without_end(config: Config) -> Config:
    endless = config.train.model_copy(update=dict.fromkeys(ENDS))
    return config.model_copy(update={"train": endless})


def _prepare(run: Run, config: Config, ranks: SingleProcess) -> list[str]:
    """Everything before the first step: what is taken from another run, texts, choices, pieces. Done once."""
    notes: list[str] = []
    run.write_json(run.versions, versions() | ({"launch": launch_id()} if launch_id() else {}))
    if config.train.init_from and not run.has_checksum(run.initial_weights):
        notes += take(runs.open_run(Path(config.train.init_from)), run)
    begun = time.perf_counter()
    write_texts(run, config)
    set_threads(config.train.threads, ranks.local_world_size)
    config, choices = _sized(run, config, ranks.world_size)
    data = write_pieces(run, config)
    require_memory(config, data.tokenizers.target.vocab_size)
    seconds = time.perf_counter() - begun
    speed = f"prepared in {seconds:,.0f} s, {len(data.train) / seconds:,.0f} pairs a second"
    return [*notes, *data.notes, *([speed] if seconds > WORTH_TELLING else []), *choices]


def _train(
    run: Run, config: Config, stop: Stop, ranks: SingleProcess, begun: float, extended: bool = False
) -> Iterator[Event]:
    threads = set_threads(config.train.threads, ranks.local_world_size)
    try:
        session = Session(run, config, write_pieces(run, config), ranks, begun)
        retain_freed_memory()  # not before: what preparing takes goes back to the system
        if extended:  # whoever trains on has decided that patience begins anew
            session.state = replace(session.state, worse=0)
        if ranks.is_main_process:
            yield from session.notes()
            yield from map(Note, session.expected.lines())
            yield Note(_means(session, threads))
            if config.train.shard and ranks.world_size == 1:
                yield Note("train.shard=true: is for several processes (torchrun); alone it changes nothing")
        with contextlib.closing(session.log):
            yield from session.train(stop)
    except (MemoryError, torch.OutOfMemoryError):
        batch = f"train.batch_tokens (now {config.train.batch_tokens:,})"
        raise ConfigError(
            f"{run.folder}: {ranks.device} has too little memory for this model; lower {batch} or model.dim"
        ) from None
    except (OSError, WriteError) as error:  # a full disk, most likely
        what = str(error) if isinstance(error, WriteError) else f"{run.folder}: {error.strerror or error}"
        raise RunError(f"{what}. What was saved is whole; make room, then go on with --resume {run.folder}.") from None


def _means(session: Session, threads: int) -> str:
    """On what and how training is computed."""
    ranks, given = session.ranks, session.config.train.threads
    why = (
        "as asked for"
        if given
        else "one a core"
        if ranks.local_world_size == 1
        else f"the cores shared by {ranks.local_world_size}"
    )
    path = "real tokens alone (train.path=packed)" if session.packed else "padded batches (train.path=plain)"
    many = f"{ranks.world_size} processes on " if ranks.world_size > 1 else "on "
    plural = "s" if threads > 1 else ""
    return f"{many}{ranks.device} with {threads} thread{plural} ({why}), {session.precision}, {path}"


def _sized(run: Run, config: Config, ranks: int) -> tuple[Config, list[str]]:
    """The settings with everything chosen that nobody has given, written into the run, and what was chosen and why."""
    pairs, source, target = facts_of(run)
    config, choices = sized(config, pairs, (source, target), ranks)
    runs.write_text(run.config, settings.dump(config))
    return config, list(told(choices))
