"""regard tune"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.options import (
    ADVANCED,
    FILES,
    LABEL,
    MODEL,
    OUTPUT,
    PAIR,
    SEARCH,
    SOURCE,
    TARGET,
    TASK,
    TEXT,
    TIME,
    argument,
    option,
)
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.tuning.space import Distribution
    from regard.tuning.worker import StudyWorker

STUDY_FILES = argument("FILES", "A study .toml or a study folder; or training files, with --over.", None)
SET_ALL = option(
    MODEL,
    "NAME=VALUE",
    "Change a setting of all trials, as `regard settings` lists them. May be repeated.",
    "--set",
)
OVER = option(
    SEARCH,
    "NAME=VALUES",
    "What varies: a,b,c or lo..hi or 'log lo..hi' or 'lo..hi by step'. May be repeated.",
)
METRIC = option(
    SEARCH,
    "NAME",
    "Validation metric to optimize: loss, bleu, chrf or accuracy; of other tasks loss, accuracy, macro_f1, f1, "
    "bits_per_byte, mrr, spearman, rouge2 and others. If unset, the loss of a translator, otherwise the main score of "
    "the task.",
)
ONLY = option(SEARCH, "PATTERN", "Train only the sets whose names match, such as 'deep*'. May be repeated.")
STORAGE = option(
    ADVANCED, "URL", "Database of the study, such as postgresql://host/name; a file in the folder if unset."
)


def tune(
    files: list[Path] | None = STUDY_FILES,
    task: str | None = TASK,
    dev: list[str] | None = option(
        FILES, PAIR, "Validation set, by which trials are ranked: files like those of FILES."
    ),
    test: list[str] | None = option(FILES, PAIR, "Test set, on which the selected trial is scored."),
    source: str | None = SOURCE,
    target: str | None = TARGET,
    text: str | None = TEXT,
    label: str | None = LABEL,
    minutes_each: float | None = option(TIME, "NUMBER", "Minutes per trial."),
    steps_each: int | None = option(TIME, "NUMBER", "Optimizer steps per trial."),
    epochs_each: float | None = option(TIME, "NUMBER", "Epochs per trial."),
    tokens_each: float | None = option(TIME, "NUMBER", "Target tokens per trial."),
    set_: list[str] | None = SET_ALL,
    over: list[str] | None = OVER,
    sampler: str | None = option(SEARCH, "NAME", "How combinations are chosen: sets, grid, random or tpe."),
    pruner: str | None = option(SEARCH, "NAME", "How weak trials are stopped early: none, halving or median."),
    metric: str | None = METRIC,
    trials: int | None = option(SEARCH, "NUMBER", "Number of combinations to try."),
    seeds: int | None = option(SEARCH, "NUMBER", "Runs per combination, each with another seed."),
    only: list[str] | None = ONLY,
    out: Path | None = option(OUTPUT, "FOLDER", "Study folder; studies/<name> if unset."),
    storage: str | None = STORAGE,
    worker: str | None = option(ADVANCED, "URL", "Join the study in this storage."),
    study: str | None = option(ADVANCED, "NAME", "Which study to join, if a storage holds several."),
) -> None:
    """Train over many settings and find out which ones matter: a study file, or training files and --over.

    Examples:
      regard tune pairs.tsv --over model.layers=2,4 --over model.dropout=0.1..0.4 --minutes-each 6
      regard tune reviews.csv --task classify --over model.dim=64,128 --metric macro_f1 --steps-each 2000
      regard tune study.toml --dev dev.en dev.fr --trials 20 --pruner median
      regard tune studies/pairs

    Read more: docs/howto/tune.md
    """
    from regard.api.studies import open_study, summarize_study
    from regard.api.training import name_columns
    from regard.config import parse_assignments
    from regard.display.console import terminal_width
    from regard.display.layout import wrap
    from regard.tuning.open_study import StudyOptions

    data = {"task": task, "data.dev": dev or None, "data.test": test or None}
    data |= {"data.source": source, "data.target": target, **name_columns(task, text, None, label)}
    budget = {"minutes": minutes_each, "steps": steps_each, "epochs": epochs_each, "tokens": tokens_each}
    fields = {"sampler": sampler, "pruner": pruner, "metric": metric, "trials": trials, "seeds": seeds}
    options = StudyOptions(
        files or [],
        _parse_distributions(over or ()),
        _drop_unset(data) | parse_assignments(set_ or ()),
        _drop_unset(budget),
        _drop_unset({**fields, "only": only or None, "storage": storage}),
    )
    study_worker = open_study(options, out, worker, study)
    run_until_finished(study_worker, f"regard tune {study_worker.study_folder.path}")
    result = summarize_study(study_worker)
    typer.echo("\n".join(["", *wrap(result.findings[0], terminal_width()), f"report: {result.report}"]), err=True)


def _parse_distributions(over: Sequence[str]) -> "dict[str, Distribution]":
    from regard.tuning.space import parse_over

    distributions = dict(map(parse_over, over))
    if len(distributions) < len(over):
        raise ConfigError("--over: a setting is given twice; put all its values into one --over")
    return distributions


def run_until_finished(study_worker: "StudyWorker", resume_command: str) -> None:
    """Train every trial. A signal to end stops it, and the study can be resumed."""
    from regard.api.studies import show_or_exhaust
    from regard.api.terminal import interruptible

    with interruptible() as should_stop:
        try:
            finished = show_or_exhaust(study_worker, should_stop, progress=True)
        except (KeyboardInterrupt, SystemExit):
            typer.echo(f"the study is saved; resume it with: {resume_command}", err=True)
            raise
        if not finished or should_stop.requested:
            raise should_stop.exception()


def _drop_unset(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
