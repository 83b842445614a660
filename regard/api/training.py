"""Train a model."""

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config as configs
from regard.api.arguments import AnyPath, Files, list_files, optional_path, to_paths
from regard.api.runs import TrainedRun, open_run
from regard.api.terminal import interruptible
from regard.config import Config
from regard.errors import ConfigError, RegardWarning
from regard.jobs.demo import FULL_PRESET, QUICK_PRESET, DemoResult, run_demo
from regard.jobs.tasks.registry import COLUMN_OPTIONS, COLUMN_SETTINGS, complete_task
from regard.jobs.train import fit
from regard.jobs.train.events import Alarm, Note, TrainingEvent, TrainingInterrupted

if TYPE_CHECKING:
    from regard.jobs.live.server import LiveServer


def train(
    *files: Files,
    task: str | None = None,
    dev: Files | None = None,
    test: Files | None = None,
    out: AnyPath | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    seed: int | None = None,
    source: str | None = None,
    target: str | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    settings: Mapping[str, Any] | None = None,
    init_from: AnyPath | None = None,
    resume: AnyPath | None = None,
    overwrite: bool = False,
    progress: bool = False,
) -> TrainedRun:
    """Train a model on your own text, and return its run: a translator, or what else `task` names.

        run = regard.train("train.en", "train.fr", dev=("dev.en", "dev.fr"), minutes=60, progress=True)
        run.load().translate("I love dogs.")

    `files` are two aligned text files, one file of pairs (.tsv, .jsonl, .tmx, .po, .xlf), or a config .toml. Without
    `dev` and `test`, pairs are held out of them. `task` is translate, classify, tag, causal-lm, masked-lm, embed,
    denoise, summarize or extract; it may be left out where files have texts with labels or tagged words. `text`,
    `text_pair` and `label` name the columns of texts with labels, of pairs with similarities, or of documents with
    summaries. The run is written to the folder `out`; runs/<name of the first file> if unset. `settings` takes any of
    `regard.settings()` by name, as in {"model.dropout": 0.2}. `init_from` initializes the model from another run
    (fine-tuning); `resume` continues a run where it was stopped, and takes no files.

    Ctrl-C saves the run and raises KeyboardInterrupt; continue with `resume`. With `progress`, the progress is shown on
    standard error. Without it, alarms (a loss that does not fall, a model that ignores its source) are warnings, and
    notes go to the logger "regard".
    """
    data: dict[str, Any] = {"task": task, "dev": dev, "test": test, "source": source, "target": target}
    data |= {"text": text, "text_pair": text_pair, "label": label}
    limits: dict[str, Any] = {"minutes": minutes, "steps": steps, "epochs": epochs, "seed": seed}
    with interruptible() as should_stop:
        events = training_events(
            *files,
            **data,
            **limits,
            out=out,
            settings=settings,
            init_from=init_from,
            resume=resume,
            overwrite=overwrite,
            should_stop=should_stop,
        )
        last = _show(events) if progress else _exhaust(events)
    folder = Path(resume) if resume is not None else output_folder(out, to_paths(files))
    if isinstance(last, TrainingInterrupted):
        raise should_stop.exception(f"saved at step {last.step:,}; continue with regard.train(resume={str(folder)!r})")
    if should_stop.requested:  # while the finished model was scored
        raise should_stop.exception(f"{folder} is complete")
    return open_run(folder)


def training_events(
    *files: Files,
    task: str | None = None,
    dev: Files | None = None,
    test: Files | None = None,
    out: AnyPath | None = None,
    minutes: float | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    seed: int | None = None,
    source: str | None = None,
    target: str | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    settings: Mapping[str, Any] | None = None,
    init_from: AnyPath | None = None,
    resume: AnyPath | None = None,
    overwrite: bool = False,
    should_stop: Callable[[], bool] | None = None,
) -> Iterator[TrainingEvent]:
    """Train as `train` does, one event at a time.

        for event in regard.training_events("pairs.tsv", out="runs/mine", steps=1000):
            if isinstance(event, regard.ValidationFinished):
                print(event.result.step, event.result.loss)

    The arguments are those of `train`. Events are frozen dataclasses. `should_stop` is called after every step; once it
    returns True, the run is saved and the last event is `TrainingInterrupted`. A loop that is left early loses the
    steps since the last checkpoint, and nothing else.
    """
    options = {
        "task": task,
        "data.dev": list_files(dev) or None,
        "data.test": list_files(test) or None,
        "data.source": source,
        "data.target": target,
        "train.minutes": minutes,
        "train.steps": steps,
        "train.epochs": epochs,
        "train.seed": seed,
        **name_columns(task, text, text_pair, label),
    }
    values = merge_values(options, settings)
    should_stop = should_stop or _never
    if resume is not None:
        if files or out or overwrite or init_from:
            raise ConfigError("--resume continues a run as it is: leave out files, --out, --from and --overwrite")
        return fit.resume_run(Path(resume), values, should_stop)
    if not files and (dev or test):
        raise ConfigError(
            "nothing to train on: the training files come before --dev and --test, which take the files after them"
        )
    paths = to_paths(files)
    config = build_config(paths, values)
    return fit.train_run(output_folder(out, paths), config, overwrite, should_stop, optional_path(init_from))


def watch(run: AnyPath, *, port: int = 0) -> AbstractContextManager["LiveServer"]:
    """Serve the page of a training that goes on in another process, or has ended, on 127.0.0.1 alone.

        with regard.watch("runs/mine") as server:
            print(server.address)
            server.wait_for_end()

    The page shows curves, predictions for the same examples, attention, and the time that is left. A free `port` is
    chosen unless it is given. The server ends with the block; the training does not.
    """
    from regard.jobs.live.server import serve  # with the page, which training does not need
    from regard.jobs.live.snapshot import LiveRun

    open_run(run)
    return serve(LiveRun(Path(run)), port)


@contextmanager
def watched(folder: Path, port: int = 0) -> Iterator["LiveServer"]:
    """Serve the page of a training that is run inside the block, until a page that is open has its last state."""
    from regard.jobs.live.server import serve
    from regard.jobs.live.snapshot import LiveRun

    training = threading.Event()
    training.set()
    with serve(LiveRun(folder, training.is_set), port) as server:
        try:
            yield server
        finally:
            training.clear()
            server.wait_for_last_state()


def output_folder(out: AnyPath | None, files: Sequence[Path]) -> Path:
    """The run folder of a training without `out`: named after its first file."""
    name = files[0].name.partition(".")[0] if files else "model"
    return Path(out) if out is not None else Path("runs") / name


def demo(
    out: AnyPath = "runs/demo", *, quick: bool = False, seed: int = 1, overwrite: bool = False, progress: bool = False
) -> DemoResult:
    """Train a small translator on the built-in corpus, score it, and compute its attention.

    It takes some minutes; `quick` runs every part in about a minute, with a model that learns almost nothing. The
    corpus is written beside the run, to the folder <out>-corpus.
    """
    preset = QUICK_PRESET if quick else FULL_PRESET
    with interruptible() as should_stop:
        events = run_demo(Path(out), preset, seed, overwrite, should_stop)
        last = _show(events) if progress else _exhaust(events)
    if not isinstance(last, DemoResult):
        raise should_stop.exception(f"the demo is saved; continue with regard.train(resume={os.fspath(out)!r})")
    return last


def name_columns(task: str | None, text: str | None, text_pair: str | None, label: str | None) -> dict[str, str | None]:
    """The settings of the columns of a table; where no task is named, it is one of labeled text."""
    names = [name for name in COLUMN_SETTINGS if name.startswith(f"{task}.")] or list(COLUMN_SETTINGS)[:3]
    if label and len(names) < len(COLUMN_OPTIONS):
        raise ConfigError(f"--label names a column of labels, which --task {task} does not read; leave it out")
    return dict(zip(names, (text, text_pair, label), strict=False))


def merge_values(options: Mapping[str, object], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings by name: those of options that are not None, and `settings`, which come last."""
    return {name: value for name, value in options.items() if value is not None} | dict(settings or {})


def build_config(files: Sequence[Path], values: Mapping[str, Any]) -> Config:
    """The config of training files, or of a config .toml and optional training files, with other values."""
    if files and files[0].suffix == ".toml":
        config, pairs = configs.load(files[0]), files[1:]
    else:
        config, pairs = configs.build({}), files
    if pairs:
        values = {"data.train": [str(file) for file in pairs], **values}
    return complete_task(configs.with_values(config, values))


def _show(events: Iterator[object]) -> object:
    from regard.display.training import show_progress

    return show_progress(events)


def _exhaust(events: Iterator[object]) -> object:
    """The last event. Alarms become warnings, notes are logged."""
    last: object = None
    for last in events:
        if isinstance(last, Alarm):
            warnings.warn(last.text, RegardWarning, stacklevel=3)
        elif isinstance(last, Note):
            logging.getLogger("regard").info(last.text)
    return last


def _never() -> bool:
    return False
