"""Train: files -> a run folder that translates."""

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import torch

from regard import config as settings
from regard import run as runs
from regard.config import Config
from regard.errors import ConfigError, RunError, WriteError
from regard.jobs.estimate import require_memory, sized, told
from regard.jobs.events import Event, Note
from regard.jobs.inherit import inherit, take
from regard.jobs.load import pick_device, use_threads
from regard.jobs.prepare import facts_of, write_pieces, write_texts
from regard.jobs.session import Session, Stop
from regard.jobs.versions import versions
from regard.run import Run
from regard.train.ranks import Many, Solo, local_rank, meet, restarted

__all__ = ["Stop", "fit", "resume"]

WORTH_TELLING = 10.0  # seconds
ENDS = ("steps", "minutes", "epochs", "tokens")


def fit(folder: Path, config: Config, overwrite: bool, stop: Stop, origin: Path | None = None) -> Iterator[Event]:
    """Train a new run, from nothing or from what another run has learnt."""
    if not config.data.train:
        raise ConfigError("nothing to train on: give two aligned text files, a .tsv, .tmx or .po, or set data.train")
    if restarted() and runs.is_run(folder):  # one of several processes has died, and all were started again
        yield from resume(folder, [], stop)
        return
    with _met(config) as ranks:
        begun = time.perf_counter()
        if ranks.first:
            yield from map(Note, _make(folder, config, overwrite, origin))
        ranks.wait()
        run = runs.open_run(folder)
        with _alone(run, ranks):
            yield from _train(run, run.load_config(), stop, ranks, begun)


def _make(folder: Path, config: Config, overwrite: bool, origin: Path | None) -> list[str]:
    """The run folder with everything that training needs; what there is to say about it."""
    runs.require_free(folder, overwrite)
    if origin:
        if origin.resolve() == folder.resolve():
            raise ConfigError(f"{folder}: a run cannot begin with itself and replace itself; choose another --out")
        _require_translator(runs.open_run(origin).load_config())
        config = inherit(runs.open_run(origin), config)
    _require_translator(config)
    making = runs.begin(folder, config)
    try:
        notes = _prepare(making, config)
    except BaseException:
        runs.discard(making)
        raise
    runs.settle(making, folder)
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
    finished = run.latest.exists() and bool(run.read_json(run.latest).get("finished"))
    if config == old and finished and run.best.exists():
        yield Note(f"{folder} is already finished. Give more --steps or --minutes to train on.")
        return
    with _met(config) as ranks, _alone(run, ranks):
        begun = time.perf_counter()
        if ranks.first:
            if run.latest.exists():  # whatever was finished is no longer so
                run.write_json(run.latest, {"step": run.read_json(run.latest)["step"]})
            runs.write_text(run.config, settings.dump(config))
            yield from map(Note, _prepare(run, config))
        ranks.wait()
        yield from _train(run, run.load_config(), stop, ranks, begun, extended=finished)


@contextlib.contextmanager
def _met(config: Config) -> Iterator[Solo]:
    """The processes that train together, on their devices, for as long as they do."""
    many: type[Many] = Many
    if config.train.shard:
        if config.train.optimizer == "muon":
            raise ConfigError("train.shard=true and train.optimizer=muon: Muon needs whole matrices; take adamw")
        from regard.train.shards import Sharded  # which is slow to import, and rarely wanted

        many = Sharded
    ranks = meet(pick_device(config.train.device, local_rank()), many)
    try:
        yield ranks
    finally:
        ranks.close()


def _alone(run: Run, ranks: Solo) -> AbstractContextManager[None]:
    return runs.held(run) if ranks.first else contextlib.nullcontext()


def _without_end(config: Config) -> Config:
    endless = config.train.model_copy(update=dict.fromkeys(ENDS))
    return config.model_copy(update={"train": endless})


def _prepare(run: Run, config: Config) -> list[str]:
    """Everything before the first step: what is taken from another run, texts, choices, pieces. Done once."""
    notes: list[str] = []
    run.write_json(run.versions, versions())
    if config.train.origin and not run.sealed(run.start):
        notes += take(runs.open_run(Path(config.train.origin)), run)
    begun = time.perf_counter()
    write_texts(run, config)
    use_threads(config.train.threads)
    config, choices = _sized(run, config)
    data = write_pieces(run, config)
    require_memory(config, data.tokenizers.target.size)
    seconds = time.perf_counter() - begun
    speed = f"prepared in {seconds:,.0f} s, {len(data.train) / seconds:,.0f} pairs a second"
    return [*notes, *data.notes, *([speed] if seconds > WORTH_TELLING else []), *choices]


def _train(run: Run, config: Config, stop: Stop, ranks: Solo, begun: float, extended: bool = False) -> Iterator[Event]:
    threads = use_threads(config.train.threads, ranks.here)
    torch.set_flush_denormal(True)  # numbers too small to matter cost a CPU a hundred times the work
    try:
        session = Session(run, config, write_pieces(run, config), ranks, begun)
        if extended:  # whoever trains on has decided that patience begins anew
            session.state = replace(session.state, worse=0)
        if ranks.first:
            yield from session.notes()
            yield from map(Note, session.expected.lines())
            many = f"{ranks.size} processes on " if ranks.size > 1 else "on "
            yield Note(f"{many}{ranks.device} with {threads} thread{'s' if threads > 1 else ''}")
        with contextlib.closing(session.log):
            yield from session.train(stop)
    except (OSError, WriteError) as error:  # a full disk, most likely
        what = str(error) if isinstance(error, WriteError) else f"{run.folder}: {error.strerror or error}"
        raise RunError(f"{what}. What was saved is whole; make room, then go on with --resume {run.folder}.") from None


def _sized(run: Run, config: Config) -> tuple[Config, list[str]]:
    """The settings with everything chosen that nobody has given, written into the run, and what was chosen and why."""
    pairs, source, target = facts_of(run)
    config, choices = sized(config, pairs, (source, target))
    runs.write_text(run.config, settings.dump(config))
    return config, list(told(choices))
