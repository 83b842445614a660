"""regard train"""

import signal
from collections.abc import Callable
from pathlib import Path

import typer

from regard.cli.overrides import assignments, read_config
from regard.errors import ConfigError

INTERRUPTED = 130
Files = typer.Argument(None, metavar="FILES", help="Two aligned text files, one .tsv, or a config .toml.")


def train(
    files: list[Path] | None = Files,
    out: Path | None = typer.Option(None, help="Run folder to make; runs/<name of the first file> if unset."),
    dev: list[str] | None = typer.Option(None, help="Pairs to choose the model on (one or two files)."),
    test: list[str] | None = typer.Option(None, help="Pairs to score the finished model on."),
    minutes: float | None = typer.Option(None, help="Train for so long."),
    steps: int | None = typer.Option(None, help="Train for so many updates."),
    seed: int | None = typer.Option(None, help="Same seed, same machine, same result."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any of `regard settings`."),
    source: str | None = typer.Option(None, help="Language code of the source side, as in --source en."),
    target: str | None = typer.Option(None, help="Language code of the target side."),
    from_: Path | None = typer.Option(None, "--from", help="Begin with the tokeniser and weights of this run."),
    resume: Path | None = typer.Option(None, help="Go on with this run where it was stopped."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace the run that is there."),
) -> None:
    """Train a translator on pairs of sentences."""
    given = {
        "data.dev": dev or None,
        "data.test": test or None,
        "data.source": source,
        "data.target": target,
        "train.minutes": minutes,
        "train.steps": steps,
        "train.seed": seed,
    }
    changes = assignments(given) + list(set_ or ())
    if resume is not None and (files or out or overwrite or from_):
        raise ConfigError("--resume goes on with a run as it is: leave out files, --out, --from and --overwrite")
    if not files and resume is None and (dev or test):
        raise ConfigError(
            "nothing to train on: the training files stand before --dev and --test, which take what follows"
        )
    from regard.cli.progress import show
    from regard.jobs.train import fit
    from regard.jobs.train.events import TrainingInterrupted

    if resume is not None:
        happenings = fit.resume_run(resume, changes, stopper())
    else:
        config, name = read_config(files or [], changes)
        happenings = fit.train_run(out or Path("runs") / name, config, overwrite, stopper(), from_)
    if isinstance(show(happenings), TrainingInterrupted):
        raise typer.Exit(INTERRUPTED)  # so that `regard train … && regard evaluate …` stops here too


def stopper() -> Callable[[], bool]:
    """A question whether somebody has pressed Ctrl-C: the first asks training to save and stop, the second stops it."""
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return lambda: bool(asked)
