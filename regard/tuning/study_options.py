"""A study from options: training files and what to vary, a study file with changes, or a study folder to resume."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard import config as settings
from regard.errors import ConfigError
from regard.tuning import open_study
from regard.tuning import study as studies
from regard.tuning.folder import StudyFolder, is_study_folder
from regard.tuning.space import Distribution
from regard.tuning.study import Study
from regard.tuning.worker import StudyWorker

MAX_DEFAULT_GRID = 64  # combinations up to which a space alone means a grid


@dataclass(frozen=True)
class StudyOptions:
    """What defines or changes a study; what is not given is left out."""

    files: Sequence[Path] = ()
    over: Mapping[str, Distribution] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    """Base settings by dotted name."""
    budget: Mapping[str, Any] = field(default_factory=dict)
    """The length of each trial: minutes, steps, epochs or tokens."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the study."""


def join_study(url: str, name: str | None, options: StudyOptions, out: Path | None) -> StudyWorker:
    """A worker of the study in a storage."""
    if any(vars(options).values()):
        raise ConfigError("--worker joins a study unchanged: leave out files and settings")
    return open_study.join_study(url, name, out)


def open_or_create_study(options: StudyOptions, out: Path | None) -> StudyWorker:
    """The study of a folder, or a new one."""
    if len(options.files) == 1 and is_study_folder(options.files[0]):
        if options.over or options.budget or options.values or out:
            raise ConfigError(f"{options.files[0]}: a study is resumed unchanged: leave out settings, --over and --out")
        return _resume_study(options.files[0], options.fields)
    new_study = _build_study(options)
    open_study.require_files(new_study)
    return open_study.create_study(new_study, out or Path("studies") / new_study.name)


def _resume_study(folder: Path, fields: Mapping[str, Any]) -> StudyWorker:
    """The study of a folder, with changed fields; a field that must not change is refused by name."""
    if fields.keys() <= {"storage"}:
        return open_study.load_study(folder, fields.get("storage"))
    return open_study.create_study(studies.override(studies.load(StudyFolder(folder).study_file), {}, **fields), folder)


def _build_study(options: StudyOptions) -> Study:
    """A study file with the changes of the options, or a study from the options alone."""
    files = options.files
    if files and files[0].suffix == ".toml":
        if options.over:
            raise ConfigError(f"{files[0]} defines what varies; leave out --over, or give training files instead")
        train = {"data.train": list(map(str, files[1:]))} if len(files) > 1 else {}
        study = studies.load(files[0])
        return studies.override(study, train | dict(options.values), **options.fields, each=options.budget or None)
    if not options.over:
        raise ConfigError("nothing varies: give a study file, or specify what to vary with --over model.layers=2,4,6")
    if not files:
        raise ConfigError("nothing to train on: put the training files before --over, --dev and --test")
    return _study_from_options(options)


def _study_from_options(options: StudyOptions) -> Study:
    fits_grid = _num_combinations(options.over.values()) <= options.fields.get("trials", MAX_DEFAULT_GRID)
    sampler = options.fields.get("sampler") or ("grid" if fits_grid else "tpe")
    train = {"data.train": list(map(str, options.files))}
    return studies.build(
        {
            "name": re.sub(r"[^A-Za-z0-9_-]+", "-", options.files[0].name.partition(".")[0]).strip("-_") or "study",
            "pruner": "none" if sampler == "grid" else "median",
            "sampler": sampler,
            "each": dict(options.budget),
            "space": {name: distribution.as_plain() for name, distribution in options.over.items()},
            "base": settings.with_values(settings.build({}), train | dict(options.values)),
        }
        | dict(options.fields)
    )


def _num_combinations(distributions: Iterable[Distribution]) -> float:
    """The size of the grid; infinite if a distribution has none."""
    grids = [distribution.grid_values() for distribution in distributions]
    return math.prod(math.inf if grid is None else len(grid) for grid in grids)
