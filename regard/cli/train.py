"""regard train"""

import signal
from collections.abc import Callable
from pathlib import Path

import typer

from regard.cli.overrides import collect_values, read_config
from regard.errors import ConfigError

EXIT_INTERRUPTED = 130
NO_FILES = "nothing to train on: the training files come before --dev and --test, which take the files after them"
FILES_ARGUMENT = typer.Argument(None, metavar="FILES", help="Two aligned text files, one .tsv, or a config .toml.")


def train(
    files: list[Path] | None = FILES_ARGUMENT,
    out: Path | None = typer.Option(None, help="Run folder to create; runs/<name of the first file> if unset."),
    dev: list[str] | None = typer.Option(
        None, help="Validation pairs, which select the best checkpoint (one or two files)."
    ),
    test: list[str] | None = typer.Option(None, help="Test pairs, on which the finished model is scored."),
    minutes: float | None = typer.Option(None, help="Training time in minutes."),
    steps: int | None = typer.Option(None, help="Number of optimizer steps."),
    epochs: float | None = typer.Option(None, help="Number of passes over the training pairs, as in --epochs 1.5."),
    learning_rate: float | None = typer.Option(
        None, help="Peak learning rate; chosen by the size of the model if unset."
    ),
    batch_tokens: int | None = typer.Option(None, help="Tokens of a batch, padding included."),
    threads: int | None = typer.Option(None, help="Number of CPU threads; one per core if unset."),
    track: list[str] | None = typer.Option(
        None, help="Tracker that records the training curves: tensorboard writes event files into the run folder."
    ),
    seed: int | None = typer.Option(None, help="Random seed; the same seed on the same machine gives the same result."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any of `regard settings`."),
    source: str | None = typer.Option(None, help="Language code of the source side, as in --source en."),
    target: str | None = typer.Option(None, help="Language code of the target side."),
    from_: Path | None = typer.Option(
        None, "--from", help="Initialize from the tokenizer and weights of this run (fine-tuning)."
    ),
    resume: Path | None = typer.Option(None, help="Continue this run where it was stopped."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace an existing run."),
) -> None:
    """Train a translator on pairs of sentences."""
    options = {
        "data.dev": dev or None,
        "data.test": test or None,
        "data.source": source,
        "data.target": target,
        "train.minutes": minutes,
        "train.steps": steps,
        "train.epochs": epochs,
        "train.learning_rate": learning_rate,
        "train.batch_tokens": batch_tokens,
        "train.threads": threads,
        "train.track": track or None,
        "train.seed": seed,
    }
    values = collect_values(options, set_)
    if resume is not None and (files or out or overwrite or from_):
        raise ConfigError("--resume continues a run as it is: leave out files, --out, --from and --overwrite")
    if not files and resume is None and (dev or test):
        raise ConfigError(NO_FILES)
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
