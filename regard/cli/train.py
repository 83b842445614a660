"""regard train"""

from pathlib import Path

import typer

EXIT_INTERRUPTED = 130
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
    from regard.api.terminal import interruptible
    from regard.api.training import training_events
    from regard.config import parse_assignments
    from regard.display.training import show_progress
    from regard.jobs.train.events import TrainingInterrupted

    with interruptible() as should_stop:
        events = training_events(
            *files or (),
            dev=dev,
            test=test,
            out=out,
            minutes=minutes,
            steps=steps,
            seed=seed,
            source=source,
            target=target,
            settings=parse_assignments(set_ or ()),
            init_from=from_,
            resume=resume,
            overwrite=overwrite,
            should_stop=should_stop,
        )
        last = show_progress(events)
    if isinstance(last, TrainingInterrupted):
        raise typer.Exit(EXIT_INTERRUPTED)  # so that `regard train … && regard evaluate …` stops here too
