"""regard tune"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.overrides import as_json, to_overrides
from regard.errors import ConfigError, RunError

if TYPE_CHECKING:
    from regard.tuning.study import Study
    from regard.tuning.worker import StudyWorker

FILES_ARGUMENT = typer.Argument(
    None, metavar="FILES", help="A study .toml or a study folder; or training files, with --over."
)


def tune(
    files: list[Path] | None = FILES_ARGUMENT,
    over: list[str] | None = typer.Option(
        None, metavar="NAME=VALUES", help="What varies: a,b,c or lo..hi or 'log lo..hi' or 'lo..hi by step'."
    ),
    dev: list[str] | None = typer.Option(None, help="Pairs to choose on (one or two files)."),
    test: list[str] | None = typer.Option(None, help="Pairs to score what was chosen on."),
    set_: list[str] | None = typer.Option(None, "--set", metavar="NAME=VALUE", help="For all trials: any setting."),
    source: str | None = typer.Option(None, help="Language code of the source side, as in --source en."),
    target: str | None = typer.Option(None, help="Language code of the target side."),
    sampler: str | None = typer.Option(None, help="sets, grid, random or tpe."),
    pruner: str | None = typer.Option(None, help="Stop weak trials early: none, halving or median."),
    metric: str | None = typer.Option(None, help="What is optimised on dev: loss, bleu, chrf or accuracy."),
    trials: int | None = typer.Option(None, help="How many combinations to try."),
    seeds: int | None = typer.Option(None, help="How often each combination is trained, with other seeds."),
    only: list[str] | None = typer.Option(None, metavar="PATTERN", help="Of the sets, those with such names."),
    minutes_each: float | None = typer.Option(None, help="Minutes for each trial."),
    steps_each: int | None = typer.Option(None, help="Updates for each trial."),
    epochs_each: float | None = typer.Option(None, help="Times through the corpus for each trial."),
    tokens_each: float | None = typer.Option(None, help="Target pieces for each trial."),
    out: Path | None = typer.Option(None, help="Study folder; studies/<name> if unset."),
    storage: str | None = typer.Option(None, metavar="URL", help="postgresql://…; a file in the folder if unset."),
    worker: str | None = typer.Option(None, metavar="URL", help="Join the study that this storage holds."),
    study: str | None = typer.Option(None, metavar="NAME", help="Which one, where a storage holds several."),
) -> None:
    """Train over many settings and see which ones matter: a study file, or files and --over."""
    from regard.cli.study_progress import show_study
    from regard.cli.train import EXIT_INTERRUPTED, install_interrupt_handler
    from regard.tuning import open_study
    from regard.tuning.folder import is_study_folder
    from regard.tuning.worker import run_trials

    trial_budget = {"minutes": minutes_each, "steps": steps_each, "epochs": epochs_each, "tokens": tokens_each}
    data = {"data.dev": dev or None, "data.test": test or None, "data.source": source, "data.target": target}
    fields: dict[str, Any] = {"sampler": sampler, "pruner": pruner, "metric": metric, "trials": trials, "seeds": seeds}
    fields |= {"only": only, "storage": storage}
    has_options = _any_given(files, over, set_, trial_budget.values(), data.values(), fields.values())
    if worker is not None:
        if has_options:
            raise ConfigError("--worker joins a study as it is: leave out files and settings")
        study_worker = open_study.join_study(worker, study, out)
    elif files and len(files) == 1 and is_study_folder(files[0]):
        if _any_given(over, set_, trial_budget.values(), data.values()) or out:
            raise ConfigError(f"{files[0]}: a study goes on as it is: leave out settings, --over and --out")
        study_worker = _resume_study(files[0], fields)
    else:
        new_study = _build_study(files or [], over or [], to_overrides(data) + list(set_ or ()), trial_budget, fields)
        open_study.require_files(new_study)
        study_worker = open_study.create_study(new_study, out or Path("studies") / new_study.name)
    if not show_study(
        run_trials(study_worker, install_interrupt_handler()), study_worker.study_folder, study_worker.peek
    ):
        raise typer.Exit(EXIT_INTERRUPTED)
    from regard.tuning.pages.study import write_study_page

    typer.echo(f"report: {write_study_page(study_worker)}", err=True)
    if all(result.state == "failed" for result in study_worker.results()):
        raise RunError(
            f"{study_worker.study_folder.path}: every trial has failed, for the reasons above; mend the study"
        )


def _resume_study(folder: Path, fields: dict[str, Any]) -> "StudyWorker":
    """The study of a folder as it is, or with such fields as may change; any other is refused by its name."""
    from regard.tuning import open_study
    from regard.tuning import study as studies
    from regard.tuning.folder import StudyFolder

    if not _any_given(value for name, value in fields.items() if name != "storage"):
        return open_study.load_study(folder, fields["storage"])
    return open_study.create_study(studies.override(studies.load(StudyFolder(folder).study_file), **fields), folder)


def _build_study(
    files: list[Path], over: list[str], overrides: list[str], trial_budget: dict[str, Any], fields: dict[str, Any]
) -> "Study":
    """The study of a file with what the options change in it, or the one that the options alone make."""
    from regard.tuning import study as studies

    budget = {name: value for name, value in trial_budget.items() if value is not None}
    if files and files[0].suffix == ".toml":
        if over:
            raise ConfigError(f"{files[0]} says what varies; leave out --over, or give training files instead")
        if len(files) > 1:
            overrides = [f"data.train={as_json([str(file) for file in files[1:]])}", *overrides]
        return studies.override(studies.load(files[0]), overrides, **fields, each=budget or None)
    if not over:
        raise ConfigError("nothing varies: give a study file, or say what to vary with --over model.layers=2,4,6")
    if not files:
        raise ConfigError("nothing to train on: the training files stand before --over, --dev and --test")
    return _study_from_options(files, over, overrides, budget, fields)


def _study_from_options(
    files: list[Path], over: list[str], overrides: list[str], budget: dict[str, Any], fields: dict[str, Any]
) -> "Study":
    from regard import config as settings
    from regard.tuning import study as studies
    from regard.tuning.space import Categorical, parse_over

    choices = dict(map(parse_over, over))
    if len(choices) < len(over):
        raise ConfigError("--over: a setting is given twice; put all its values into one --over")
    num_combinations = 1
    for choice in choices.values():
        values = choice.values if isinstance(choice, Categorical) else choice.grid_values()
        num_combinations *= len(values) if values is not None else 10**6
    fits_grid = num_combinations <= (fields["trials"] or 64)
    table: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    table.setdefault("sampler", "grid" if fits_grid else "tpe")
    table.setdefault("pruner", "none" if table["sampler"] == "grid" else "median")
    table["name"] = re.sub(r"[^A-Za-z0-9_-]+", "-", files[0].name.partition(".")[0]).strip("-_") or "study"
    table["each"] = budget
    table["space"] = {
        name: list(choice.values)
        if isinstance(choice, Categorical)
        else {k: v for k, v in vars(choice).items() if v is not None}
        for name, choice in choices.items()
    }
    train = f"data.train={as_json([str(file) for file in files])}"
    base = settings.override(settings.build({}), [train, *overrides])
    table["base"] = base.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return studies.build(table)


def _any_given(*groups: Iterable[Any] | None) -> bool:
    return any(value is not None for group in groups if group for value in group)
