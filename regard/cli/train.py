"""regard train"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from regard.cli.options import (
    ADVANCED,
    DEV,
    EPOCHS,
    LABEL,
    MINUTES,
    MODEL,
    OUTPUT,
    OVERWRITE,
    SET,
    SOURCE,
    STEPS,
    TARGET,
    TASK,
    TEST,
    TEXT,
    TEXT_PAIR,
    TRAINING,
    argument,
    flag,
    option,
)
from regard.cli.watch import PORT

TRAINING_FILES = argument(
    "FILES",
    "Two aligned text files; a .tsv, .jsonl, .tmx, .po, .xlf or .csv file; a folder of them; or a config .toml.",
    None,
)
FROM = option(MODEL, "RUN", "Initialize from the tokenizer and weights of this run (fine-tuning).", "--from")
LEARNING_RATE = option(TRAINING, "NUMBER", "Peak learning rate; chosen by the size of the model if unset.")
BATCH_TOKENS = option(TRAINING, "NUMBER", "Tokens of a batch, padding included.")
SEED = option(TRAINING, "NUMBER", "Random seed; the same seed on the same machine gives the same result.")
WATCH = flag(OUTPUT, "Show the training in the browser as it goes on; prints the address of the page.", "--watch")
TRACK = option(OUTPUT, "NAME", "Record the training curves; tensorboard writes event files into the run folder.")


def train(
    files: list[Path] | None = TRAINING_FILES,
    task: str | None = TASK,
    dev: list[str] | None = DEV,
    test: list[str] | None = TEST,
    source: str | None = SOURCE,
    target: str | None = TARGET,
    text: str | None = TEXT,
    text_pair: str | None = TEXT_PAIR,
    label: str | None = LABEL,
    minutes: float | None = MINUTES,
    steps: int | None = STEPS,
    epochs: float | None = EPOCHS,
    set_: list[str] | None = SET,
    from_: Path | None = FROM,
    learning_rate: float | None = LEARNING_RATE,
    batch_tokens: int | None = BATCH_TOKENS,
    seed: int | None = SEED,
    resume: Path | None = option(TRAINING, "RUN", "Continue this run where it was stopped."),
    out: Path | None = option(OUTPUT, "FOLDER", "Run folder to create; runs/<name of the first file> if unset."),
    overwrite: bool = OVERWRITE,
    track: list[str] | None = TRACK,
    watch: bool = WATCH,
    port: int | None = PORT,
    threads: int | None = option(ADVANCED, "NUMBER", "CPU threads; OMP_NUM_THREADS, or the fastest number, if unset."),
) -> None:
    """Train a translator, a classifier, a tagger, a language model or an encoder on your own text.

    Settings that you leave out are chosen from the corpus, the machine and the time; --verbose prints each choice with
    its reason. Ctrl-C saves the run and stops.

    Examples:
      regard train train.en train.fr --dev dev.en dev.fr --out runs/mine --minutes 30
      regard train reviews.csv --text review --label rating --steps 2000 --set model.dropout=0.2
      regard train new.tsv --from runs/mine --out runs/fine-tuned
      regard train --resume runs/mine --minutes 60 --watch

    Read more: docs/results/recipes.md, `regard settings` and `regard estimate --help`.
    """
    from regard.api.terminal import interruptible
    from regard.api.training import merge_values, output_folder, training_events
    from regard.config import parse_assignments
    from regard.display.training import show_progress
    from regard.jobs.train.events import TrainingInterrupted

    options: dict[str, object] = {"data.source": source, "data.target": target, "train.seed": seed}
    options |= {"train.minutes": minutes, "train.steps": steps, "train.epochs": epochs, "train.threads": threads}
    options |= {"train.learning_rate": learning_rate, "train.batch_tokens": batch_tokens, "train.track": track or None}
    data: dict[str, Any] = {"task": task, "dev": dev, "test": test}
    data |= {"text": text, "text_pair": text_pair, "label": label}
    folders: dict[str, Any] = {"out": out, "init_from": from_, "resume": resume, "overwrite": overwrite}
    with interruptible() as should_stop, _naming_run(resume or out):
        settings = merge_values(options, parse_assignments(set_ or ()))
        events = training_events(*files or (), **data, **folders, settings=settings, should_stop=should_stop)
        with _watching(resume or output_folder(out, files or ()), port or 0) if watch else contextlib.nullcontext():
            last = show_progress(events)
    if isinstance(last, TrainingInterrupted) or should_stop.requested:
        raise should_stop.exception()  # so that `regard train … && regard evaluate …` stops here too


@contextlib.contextmanager
def _watching(folder: Path, port: int) -> Iterator[None]:
    """Serve the page of the training inside the block, and print its address."""
    from regard.api.training import watched

    if os.environ.get("RANK", "0") != "0":  # of several processes (torchrun), the main one writes what is shown
        yield
        return
    with watched(folder, port) as server:
        typer.echo(f"watch it at {server.address}", err=True)
        yield


@contextlib.contextmanager
def _naming_run(folder: Path | None) -> Iterator[None]:
    """Say how a run is continued that was prepared, but stopped before its first step."""
    from regard.run import is_run

    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if folder is not None and is_run(folder):
            typer.echo(f"stopped before the first step. Continue with: regard train --resume {folder}", err=True)
        raise
