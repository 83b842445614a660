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
    from regard.api.terminal import interruptible
    from regard.api.training import merge_values, training_events
    from regard.config import parse_assignments
    from regard.display.training import show_progress
    from regard.jobs.train.events import TrainingInterrupted

    options = {
        "train.learning_rate": learning_rate,
        "train.batch_tokens": batch_tokens,
        "train.threads": threads,
        "train.track": track or None,
    }
    with interruptible() as should_stop:
        events = training_events(
            *files or (),
            dev=dev,
            test=test,
            out=out,
            minutes=minutes,
            steps=steps,
            epochs=epochs,
            seed=seed,
            source=source,
            target=target,
            settings=merge_values(options, parse_assignments(set_ or ())),
            init_from=from_,
            resume=resume,
            overwrite=overwrite,
            should_stop=should_stop,
        )
        last = show_progress(events)
    if isinstance(last, TrainingInterrupted):
        raise typer.Exit(EXIT_INTERRUPTED)  # so that `regard train … && regard evaluate …` stops here too
