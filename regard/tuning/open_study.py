"""Opening a study: create it from options, load it, or join it from another process or machine."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config as settings
from regard.atomic import remove_temporary_files
from regard.errors import ConfigError, RegardError, RunError
from regard.run import write_text
from regard.tuning import storage as storages
from regard.tuning import study as studies
from regard.tuning.claims import TrialClaims
from regard.tuning.folder import StudyFolder, is_study_folder
from regard.tuning.space import Distribution
from regard.tuning.storage import FOLDER_ATTR, STUDY_ATTR
from regard.tuning.study import Study
from regard.tuning.worker import StudyWorker

if TYPE_CHECKING:
    import optuna
    from optuna.storages import RDBStorage

MUTABLE_FIELDS = {"trials", "only", "pruner", "storage"}
"""Fields that may change when a study is resumed, because trials stay comparable."""


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


def open_or_create_study(options: StudyOptions, out: Path | None) -> StudyWorker:
    """The study of a folder, or a new one."""
    if len(options.files) == 1 and is_study_folder(options.files[0]):
        if options.over or options.budget or options.values or out:
            raise ConfigError(f"{options.files[0]}: a study is resumed unchanged: leave out settings, --over and --out")
        return _resume_study(options.files[0], options.fields)
    new_study = _build_study(options)
    require_files(new_study)
    return create_study(new_study, out or Path("studies") / new_study.name)


def _resume_study(folder: Path, fields: Mapping[str, Any]) -> StudyWorker:
    """The study of a folder, with changed fields; a field that must not change is refused by name."""
    if fields.keys() <= {"storage"}:
        return load_study(folder, fields.get("storage"))
    return create_study(studies.override(studies.load(StudyFolder(folder).study_file), {}, **fields), folder)


def _build_study(options: StudyOptions) -> Study:
    """A study file with the changes of the options, or a study from the options alone."""
    files = options.files
    if files and files[0].suffix == ".toml":
        if options.over:
            raise ConfigError(f"{files[0]} defines what varies; leave out --over, or give training files instead")
        train = {"data.train": list(map(str, files[1:]))} if len(files) > 1 else {}
        study = studies.load(files[0], train | dict(options.values))
        return studies.override(study, {}, **options.fields, each=options.budget or None)
    if not options.over:
        raise ConfigError("nothing varies: give a study file, or specify what to vary with --over model.layers=2,4,6")
    if not files:
        raise ConfigError("nothing to train on: put the training files before --over, --dev and --test")
    return _study_from_options(options)


def _study_from_options(options: StudyOptions) -> Study:
    fits_grid = _num_combinations(options.over.values()) <= options.fields.get("trials", MAX_DEFAULT_GRID)
    sampler = options.fields.get("sampler") or ("grid" if fits_grid else "tpe")
    train: dict[str, Any] = {"data.train": list(map(str, options.files))}
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


def create_study(study: Study, folder: Path) -> StudyWorker:
    """Create a study in its folder, or open it if the folder holds the same study."""
    study_folder = StudyFolder(folder)
    exists = _check_folder(study_folder, study)
    study.task.require_files(study.base)
    if study.seeds > 1 and not study.base.data.dev and study.base.data.split_seed is None:
        raise ConfigError(
            f"seeds = {study.seeds} without dev {study.task.example}s: each seed would hold out different ones of the "
            f"training files and be scored on them; give --dev, or set base.data.dev or base.data.split_seed"
        )
    url = study.storage or storages.sqlite_url(study_folder.database)
    is_new = _make_folder(folder, private=bool(study.storage))
    try:
        storage = storages.open_storage(url, create=not exists)
    except RegardError:
        if is_new:
            folder.rmdir()
        raise
    stored_study = study.model_copy(
        update={"storage": storages.redact_password(study.storage) if study.storage else ""}
    )
    text = studies.dump(stored_study)
    optuna_study = storages.create_optuna_study(storage, study, text, folder)
    _require_unchanged(studies.loads(optuna_study.user_attrs[STUDY_ATTR], ""), study, folder)
    optuna_study.set_user_attr(STUDY_ATTR, text)
    _write_study_file(study_folder, text, private=bool(study.storage))
    return _build_worker(study, study_folder, storage, optuna_study)


def _make_folder(folder: Path, private: bool) -> bool:
    """Make a study folder, and return whether it is new; one that names a server is for its owner alone."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700 if private else 0o777)
    except OSError as error:
        if folder.is_dir():
            return False
        raise RunError(f"{folder}: cannot be created ({error.strerror or error}). Choose another with --out.") from None
    return True


def _write_study_file(study_folder: StudyFolder, text: str, private: bool) -> None:
    """Write study.toml; one that names a server and its user is for the owner alone, wherever it stands."""
    if private and not study_folder.study_file.exists():
        study_folder.study_file.touch(mode=0o600)  # which replacing it keeps
    write_text(study_folder.study_file, text)


def load_study(folder: Path, url: str | None = None) -> StudyWorker:
    """Open the study of a folder, unchanged."""
    study_folder = StudyFolder(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such study. Start one with `regard tune study.toml --out {folder}`.")
    if not is_study_folder(folder):
        raise RunError(f"{folder}: not a study folder (it has no {study_folder.study_file.name}).")
    study = studies.load(study_folder.study_file)
    url = url or study.storage or storages.sqlite_url(study_folder.database)
    storage = storages.open_storage(url, create=False)
    optuna_study = storages.load_optuna_study(storage, study.name, storages.redact_password(url))
    return _build_worker(study, study_folder, storage, optuna_study)


def join_study(url: str, name: str | None, folder: Path | None) -> StudyWorker:
    """Open the study of a storage. Runs go to `folder`, or to the study's own folder if it exists on this machine."""
    storage = storages.open_storage(url, create=False)
    optuna_study = storages.load_optuna_study(storage, name, storages.redact_password(url))
    study = studies.loads(optuna_study.user_attrs[STUDY_ATTR], f"{storages.redact_password(url)}: ")
    original_folder = Path(optuna_study.user_attrs[FOLDER_ATTR])
    study_folder = StudyFolder(
        folder or (original_folder if original_folder.is_dir() else Path("studies") / study.name)
    )
    if not _check_folder(study_folder, study):
        _make_folder(study_folder.path, private=True)
        stored_study = study.model_copy(update={"storage": storages.redact_password(url)})
        _write_study_file(study_folder, studies.dump(stored_study), private=True)
    return _build_worker(study, study_folder, storage, optuna_study)


def require_files(study: Study) -> None:
    """Refuse a study whose data files are missing, before anything is written."""
    data = study.base.data
    for paths in (data.train, data.dev, data.test):
        if paths:
            study.task.require_readable(paths, study.base)


def _build_worker(
    study: Study, study_folder: StudyFolder, storage: "RDBStorage", optuna_study: "optuna.Study"
) -> StudyWorker:
    return StudyWorker(study, study_folder, storage, optuna_study, TrialClaims(storage.engine, study.name))


def _check_folder(study_folder: StudyFolder, study: Study) -> bool:
    """Whether a folder holds this study already; a folder with anything else is refused."""
    if is_study_folder(study_folder.path):
        _require_unchanged(studies.load(study_folder.study_file), study, study_folder.path)
        return True
    if study_folder.path.exists() and not _is_unused(study_folder):
        raise RunError(f"{study_folder.path}: already exists and is not a study. Choose another folder with --out.")
    return False


def _is_unused(study_folder: StudyFolder) -> bool:
    """Whether a folder is empty, or holds only the storage and its lock, as after a kill in the first seconds."""
    remove_temporary_files(study_folder.path)  # a kill may have come while the study file was written
    return study_folder.path.is_dir() and all(
        path.name.startswith(study_folder.database.name) for path in study_folder.path.iterdir()
    )


def _require_unchanged(old: Study, new: Study, folder: Path) -> None:
    """Refuse changes that would make the trials of one study incomparable."""
    old_fields, new_fields = (
        study.model_dump(mode="json", exclude=MUTABLE_FIELDS) | {"metric": study.metric_key} for study in (old, new)
    )
    old_sets, new_sets = list(old.select_sets()), list(new.select_sets())
    if old_fields["sets"] == new_fields["sets"] and new_sets[: len(old_sets)] != old_sets:
        raise ConfigError(
            f"{folder}: was created with the sets {', '.join(old_sets)}; sets may be added after them in the file, but "
            f"not removed or inserted between them. Start another study with --out."
        )
    changed_fields = [name for name in old_fields if old_fields[name] != new_fields[name]]
    if changed_fields:
        raise ConfigError(
            f"{folder}: holds a study with another {', '.join(changed_fields)}. Resume it unchanged with "
            f"`regard tune {folder}`, or start another study with --out."
        )
    if old.sampler == "grid" and old.predefined_params() != new.predefined_params():
        raise ConfigError(f"{folder}: the study has another grid; start another study with --out")
