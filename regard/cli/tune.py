"""regard tune"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.options import ADVANCED, FILES, MODEL, OUTPUT, PAIR, SEARCH, SOURCE, TARGET, TIME, argument, option
from regard.errors import ConfigError, RunError

if TYPE_CHECKING:
    from regard.tuning.space import Distribution
    from regard.tuning.study import Study
    from regard.tuning.worker import StudyWorker

MAX_DEFAULT_GRID = 64  # combinations up to which `--over` alone means a grid


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
ONLY = option(SEARCH, "PATTERN", "Train only the sets whose names match, such as 'deep*'. May be repeated.")
STORAGE = option(
    ADVANCED, "URL", "Database of the study, such as postgresql://host/name; a file in the folder if unset."
)


def tune(
    files: list[Path] | None = STUDY_FILES,
    dev: list[str] | None = option(FILES, PAIR, "Validation pairs, by which trials are ranked."),
    test: list[str] | None = option(FILES, PAIR, "Test pairs, on which the selected trial is scored."),
    source: str | None = SOURCE,
    target: str | None = TARGET,
    minutes_each: float | None = option(TIME, "NUMBER", "Minutes per trial."),
    steps_each: int | None = option(TIME, "NUMBER", "Optimizer steps per trial."),
    epochs_each: float | None = option(TIME, "NUMBER", "Epochs per trial."),
    tokens_each: float | None = option(TIME, "NUMBER", "Target tokens per trial."),
    set_: list[str] | None = SET_ALL,
    over: list[str] | None = OVER,
    sampler: str | None = option(SEARCH, "NAME", "How combinations are chosen: sets, grid, random or tpe."),
    pruner: str | None = option(SEARCH, "NAME", "How weak trials are stopped early: none, halving or median."),
    metric: str | None = option(SEARCH, "NAME", "Validation metric to optimize: loss, bleu, chrf or accuracy."),
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
      regard tune study.toml --dev dev.en dev.fr --trials 20 --pruner median
      regard tune studies/pairs
      regard tune --worker postgresql://host/name --study pairs

    Read more: docs/tuning.md
    """
    from regard import config as settings
    from regard.cli.train import EXIT_INTERRUPTED, install_interrupt_handler
    from regard.display.study import show_study
    from regard.tuning.pages.study import write_study_page
    from regard.tuning.worker import run_trials

    data = {"data.dev": dev or None, "data.test": test or None, "data.source": source, "data.target": target}
    budget = {"minutes": minutes_each, "steps": steps_each, "epochs": epochs_each, "tokens": tokens_each}
    fields = {"sampler": sampler, "pruner": pruner, "metric": metric, "trials": trials, "seeds": seeds}
    options = _StudyOptions(
        files or [],
        over or [],
        _drop_unset(data) | settings.parse_assignments(set_ or []),
        _drop_unset(budget),
        _drop_unset({**fields, "only": only or None, "storage": storage}),
    )
    study_worker = _join(worker, study, options, out) if worker is not None else _open(options, out)
    events = run_trials(study_worker, install_interrupt_handler())
    if not show_study(events, study_worker.study_folder, study_worker.peek):
        raise typer.Exit(EXIT_INTERRUPTED)
    typer.echo(f"report: {write_study_page(study_worker)}", err=True)
    if all(result.state == "failed" for result in study_worker.results()):
        raise RunError(
            f"{study_worker.study_folder.path}: every trial has failed, for the reasons above; correct the study"
        )


@dataclass(frozen=True)
class _StudyOptions:
    """The options that define or change a study; those without a value are left out."""

    files: list[Path]
    over: list[str]
    values: dict[str, Any]
    """Base settings by dotted name."""
    budget: dict[str, Any]
    fields: dict[str, Any]
    """Fields of the study."""


def _drop_unset(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _join(url: str, name: str | None, options: _StudyOptions, out: Path | None) -> "StudyWorker":
    from regard.tuning import open_study

    if any(vars(options).values()):
        raise ConfigError("--worker joins a study unchanged: leave out files and settings")
    return open_study.join_study(url, name, out)


def _open(options: _StudyOptions, out: Path | None) -> "StudyWorker":
    """The study of a folder, or a new one."""
    from regard.tuning import open_study
    from regard.tuning.folder import is_study_folder

    if len(options.files) == 1 and is_study_folder(options.files[0]):
        if options.over or options.budget or options.values or out:
            raise ConfigError(f"{options.files[0]}: a study is resumed unchanged: leave out settings, --over and --out")
        return _resume_study(options.files[0], options.fields)
    new_study = _build_study(options)
    open_study.require_files(new_study)
    return open_study.create_study(new_study, out or Path("studies") / new_study.name)


def _resume_study(folder: Path, fields: dict[str, Any]) -> "StudyWorker":
    """The study of a folder, with changed fields; a field that must not change is refused by name."""
    from regard.tuning import open_study
    from regard.tuning import study as studies
    from regard.tuning.folder import StudyFolder

    if fields.keys() <= {"storage"}:
        return open_study.load_study(folder, fields.get("storage"))
    return open_study.create_study(studies.override(studies.load(StudyFolder(folder).study_file), {}, **fields), folder)


def _build_study(options: _StudyOptions) -> "Study":
    """A study file with the changes of the options, or a study from the options alone."""
    from regard.tuning import study as studies

    files = options.files
    if files and files[0].suffix == ".toml":
        if options.over:
            raise ConfigError(f"{files[0]} defines what varies; leave out --over, or give training files instead")
        train = {"data.train": list(map(str, files[1:]))} if len(files) > 1 else {}
        study = studies.load(files[0])
        return studies.override(study, train | options.values, **options.fields, each=options.budget or None)
    if not options.over:
        raise ConfigError("nothing varies: give a study file, or specify what to vary with --over model.layers=2,4,6")
    if not files:
        raise ConfigError("nothing to train on: put the training files before --over, --dev and --test")
    return _study_from_options(options)


def _study_from_options(options: _StudyOptions) -> "Study":
    from regard import config as settings
    from regard.tuning import study as studies
    from regard.tuning.space import parse_over

    distributions = dict(map(parse_over, options.over))
    if len(distributions) < len(options.over):
        raise ConfigError("--over: a setting is given twice; put all its values into one --over")
    fits_grid = _num_combinations(distributions.values()) <= options.fields.get("trials", MAX_DEFAULT_GRID)
    sampler = options.fields.get("sampler") or ("grid" if fits_grid else "tpe")
    train = {"data.train": list(map(str, options.files))}
    return studies.build(
        {
            "name": re.sub(r"[^A-Za-z0-9_-]+", "-", options.files[0].name.partition(".")[0]).strip("-_") or "study",
            "pruner": "none" if sampler == "grid" else "median",
            "sampler": sampler,
            "each": options.budget,
            "space": {name: distribution.as_plain() for name, distribution in distributions.items()},
            "base": settings.with_values(settings.build({}), train | options.values),
        }
        | options.fields
    )


def _num_combinations(distributions: "Iterable[Distribution]") -> float:
    """The size of the grid; infinite if a distribution has none."""
    grids = [distribution.grid_values() for distribution in distributions]
    return math.prod(math.inf if grid is None else len(grid) for grid in grids)
