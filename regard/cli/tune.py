"""regard tune"""

from pathlib import Path
from typing import Any

import typer

from regard.errors import ConfigError

FILES_ARGUMENT = typer.Argument(
    None, metavar="FILES", help="A study .toml or a study folder; or training files, with --over."
)


def tune(
    files: list[Path] | None = FILES_ARGUMENT,
    over: list[str] | None = typer.Option(
        None, metavar="NAME=VALUES", help="What varies: a,b,c or lo..hi or 'log lo..hi' or 'lo..hi by step'."
    ),
    dev: list[str] | None = typer.Option(None, help="Dev pairs, used to rank trials (one or two files)."),
    test: list[str] | None = typer.Option(None, help="Test pairs, to score the selected trial on."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="Any setting, for all trials."),
    source: str | None = typer.Option(None, help="Source language code, as in --source en."),
    target: str | None = typer.Option(None, help="Target language code."),
    sampler: str | None = typer.Option(None, help="sets, grid, random or tpe."),
    pruner: str | None = typer.Option(None, help="Stop weak trials early: none, halving or median."),
    metric: str | None = typer.Option(None, help="Dev metric to optimize: loss, bleu, chrf or accuracy."),
    trials: int | None = typer.Option(None, help="Number of combinations to try."),
    seeds: int | None = typer.Option(None, help="Runs per combination, each with another seed."),
    only: list[str] | None = typer.Option(None, metavar="PATTERN", help="Only the sets whose names match."),
    minutes_each: float | None = typer.Option(None, help="Minutes per trial."),
    steps_each: int | None = typer.Option(None, help="Optimizer steps per trial."),
    epochs_each: float | None = typer.Option(None, help="Epochs per trial."),
    tokens_each: float | None = typer.Option(None, help="Target tokens per trial."),
    out: Path | None = typer.Option(None, help="Study folder; studies/<name> if unset."),
    storage: str | None = typer.Option(None, metavar="URL", help="postgresql://…; a file in the folder if unset."),
    worker: str | None = typer.Option(None, metavar="URL", help="Join the study in this storage."),
    study: str | None = typer.Option(None, metavar="NAME", help="Which study, if a storage holds several."),
) -> None:
    """Train over many settings and find out which ones matter: a study file, or training files and --over."""
    from regard.api.studies import open_study, show_or_exhaust, summarize_study
    from regard.api.terminal import interruptible
    from regard.cli.train import EXIT_INTERRUPTED
    from regard.config import parse_assignments
    from regard.tuning.open_study import StudyOptions
    from regard.tuning.space import parse_over

    data = {"data.dev": dev or None, "data.test": test or None, "data.source": source, "data.target": target}
    budget = {"minutes": minutes_each, "steps": steps_each, "epochs": epochs_each, "tokens": tokens_each}
    fields = {"sampler": sampler, "pruner": pruner, "metric": metric, "trials": trials, "seeds": seeds}
    distributions = dict(map(parse_over, over or ()))
    if len(distributions) < len(over or ()):
        raise ConfigError("--over: a setting is given twice; put all its values into one --over")
    options = StudyOptions(
        files or [],
        distributions,
        _drop_unset(data) | parse_assignments(set_ or ()),
        _drop_unset(budget),
        _drop_unset({**fields, "only": only or None, "storage": storage}),
    )
    study_worker = open_study(options, out, worker, study)
    with interruptible() as should_stop:
        if not show_or_exhaust(study_worker, should_stop, progress=True):
            raise typer.Exit(EXIT_INTERRUPTED)
    typer.echo(f"report: {summarize_study(study_worker).report}", err=True)


def _drop_unset(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
