"""Ways into a study: begin it, go on with it, or join it from another process or machine."""

from pathlib import Path

from regard.errors import ConfigError, RunError
from regard.formats import read_pairs
from regard.run import write_text
from regard.tuning import storage as storages
from regard.tuning import study as studies
from regard.tuning.claims import Claims
from regard.tuning.folder import StudyFolder, is_study
from regard.tuning.storage import FOLDER, STUDY
from regard.tuning.study import Study
from regard.tuning.worker import Bench

MAY_CHANGE = {"trials", "only", "pruner", "storage"}
"""What a study may change when it goes on: nothing that would make its trials differ from one another."""


def begin(study: Study, folder: Path) -> Bench:
    """A new study in its folder, or the one that was begun there."""
    place = StudyFolder(folder)
    old = _require_ours(place, study)
    if not study.base.data.train:
        raise ConfigError(
            "nothing to train on: give two aligned text files, a .tsv, .tmx or .po, or set base.data.train"
        )
    if study.seeds > 1 and not study.base.data.dev:
        raise ConfigError(
            f"seeds = {study.seeds} without dev pairs: every seed would hold other sentences out of the training files "
            f"and be judged on them; give --dev, or set base.data.dev"
        )
    storage = storages.open_storage(study.storage or storages.url_of(place.database), create=not old)
    kept = study.model_copy(update={"storage": storages.without_password(study.storage) if study.storage else ""})
    text = studies.dump(kept)
    found = storages.begin(storage, study, text, folder)
    _require_same(studies.loads(found.user_attrs[STUDY], ""), study, folder)
    found.set_user_attr(STUDY, text)
    write_text(place.study, text)
    return Bench(study, place, storage, found, Claims(storage.engine, study.name))


def _require_ours(place: StudyFolder, study: Study) -> bool:
    """Whether a folder holds this study already; another one's is refused, or its runs would be taken for ours."""
    if is_study(place.folder):
        _require_same(studies.load(place.study), study, place.folder)
        return True
    if place.folder.exists() and not _unbegun(place):
        raise RunError(f"{place.folder}: already exists and is not a study. Choose another folder with --out.")
    return False


def require_files(study: Study) -> None:
    """Refuse a study whose pairs are not there, before anything of it is written down."""
    data = study.base.data
    for paths in (data.train, data.dev, data.test):
        if paths:
            read_pairs(paths, data.source, data.target)  # which looks for them at once and reads later


def _unbegun(place: StudyFolder) -> bool:
    """Whether a folder is empty, or holds no more than a kill in the first seconds leaves: the storage and its lock."""
    return place.folder.is_dir() and all(path.name.startswith(place.database.name) for path in place.folder.iterdir())


def go_on(folder: Path, url: str | None = None) -> Bench:
    """The study of a folder, as it is."""
    place = StudyFolder(folder)
    if not folder.is_dir():
        raise RunError(f"{folder}: no such study. Begin one with `regard tune study.toml --out {folder}`.")
    if not is_study(folder):
        raise RunError(f"{folder}: not a study folder (it has no {place.study.name}).")
    study = studies.load(place.study)
    storage = storages.open_storage(url or study.storage or storages.url_of(place.database), create=False)
    found = storages.join(storage, study.name, storages.without_password(url or study.storage or str(place.database)))
    return Bench(study, place, storage, found, Claims(storage.engine, study.name))


def join(url: str, name: str | None, folder: Path | None) -> Bench:
    """A study that somebody else has begun; runs go where the others' go if that folder is here, or where we say."""
    storage = storages.open_storage(url, create=False)
    found = storages.join(storage, name, storages.without_password(url))
    study = studies.loads(found.user_attrs[STUDY], f"{storages.without_password(url)}: ")
    theirs = Path(found.user_attrs[FOLDER])
    place = StudyFolder(folder or (theirs if theirs.is_dir() else Path("studies") / study.name))
    if not _require_ours(place, study):
        kept = study.model_copy(update={"storage": storages.without_password(url)})
        write_text(place.study, studies.dump(kept))
    return Bench(study, place, storage, found, Claims(storage.engine, study.name))


def _require_same(old: Study, new: Study, folder: Path) -> None:
    """A study goes on as it was: other settings would put trials side by side that cannot be compared."""
    one, two = (study.model_dump(mode="json", exclude=MAY_CHANGE) for study in (old, new))
    before, after = list(old.chosen_sets()), list(new.chosen_sets())
    if one["sets"] == two["sets"] and after[: len(before)] != before:
        raise ConfigError(
            f"{folder}: was begun with the sets {', '.join(before)}; more may follow them in the file, none may go or "
            f"come between. Begin another study with --out."
        )
    differing = [name for name in one if one[name] != two[name]]
    if differing:
        raise ConfigError(
            f"{folder}: holds a study with another {', '.join(differing)}. It goes on as it was with "
            f"`regard tune {folder}`; begin another one with --out."
        )
    if old.sampler == "grid" and old.fixed_points() != new.fixed_points():
        raise ConfigError(f"{folder}: its grid has other points; begin another study with --out")
