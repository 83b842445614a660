"""regard train"""

import signal
from collections.abc import Callable
from pathlib import Path

import typer

from regard.cli.options import (
    DEV,
    MINUTES,
    MODEL,
    OUTPUT,
    OVERWRITE,
    SET,
    SOURCE,
    STEPS,
    TARGET,
    TEST,
    TRAINING,
    argument,
    option,
)
from regard.cli.overrides import collect_values, read_config
from regard.errors import ConfigError

EXIT_INTERRUPTED = 130


def train(
    files: list[Path] | None = argument("FILES", "Two aligned text files, one .tsv, or a config .toml.", None),
    dev: list[str] | None = DEV,
    test: list[str] | None = TEST,
    source: str | None = SOURCE,
    target: str | None = TARGET,
    minutes: float | None = MINUTES,
    steps: int | None = STEPS,
    set_: list[str] | None = SET,
    from_: Path | None = option(
        MODEL, "RUN", "Initialize from the tokenizer and weights of this run (fine-tuning).", "--from"
    ),
    seed: int | None = option(
        TRAINING, "NUMBER", "Random seed; the same seed on the same machine gives the same result."
    ),
    resume: Path | None = option(TRAINING, "RUN", "Continue this run where it was stopped."),
    out: Path | None = option(OUTPUT, "FOLDER", "Run folder to create; runs/<name of the first file> if unset."),
    overwrite: bool = OVERWRITE,
) -> None:
    """Train a translator on pairs of sentences.

    Settings that you leave out are chosen from the corpus, the machine and the time, and each choice is printed with
    its reason. Ctrl-C saves the run and stops.

    Examples:
      regard train train.en train.fr --dev dev.en dev.fr --out runs/mine --minutes 30
      regard train pairs.tsv --source en --target fr --steps 2000 --set model.dropout=0.2
      regard train new.tsv --from runs/mine --out runs/fine-tuned
      regard train --resume runs/mine --minutes 60

    Read more: docs/recipes.md, `regard settings` and `regard estimate --help`.
    """
    options = {
        "data.dev": dev or None,
        "data.test": test or None,
        "data.source": source,
        "data.target": target,
        "train.minutes": minutes,
        "train.steps": steps,
        "train.seed": seed,
    }
    values = collect_values(options, set_)
    if resume is not None and (files or out or overwrite or from_):
        raise ConfigError("--resume continues a run as it is: leave out files, --out, --from and --overwrite")
    if not files and resume is None and (dev or test):
        raise ConfigError(
            "nothing to train on: the training files come before --dev and --test, which take the files after them"
        )
    from regard.display.training import show_progress
    from regard.jobs.train import fit
    from regard.jobs.train.events import TrainingInterrupted

    if resume is not None:
        event_stream = fit.resume_run(resume, values, install_interrupt_handler())
    else:
        config, name = read_config(files or [], values)
        event_stream = fit.train_run(out or Path("runs") / name, config, overwrite, install_interrupt_handler(), from_)
    if isinstance(show_progress(event_stream), TrainingInterrupted):
        raise typer.Exit(EXIT_INTERRUPTED)  # so that `regard train … && regard evaluate …` stops here too


def install_interrupt_handler() -> Callable[[], bool]:
    """A function that tells whether Ctrl-C was pressed: the first makes training save and stop, the second aborts."""
    signals: list[int] = []

    def request_stop(number: int, frame: object) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, request_stop)
    return lambda: bool(signals)
