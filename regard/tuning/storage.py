"""Where the state of a study is kept: Optuna's own tables, in a file of the study's folder or on a server."""

import contextlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError, RunError
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna
    from optuna.storages import RDBStorage
    from sqlalchemy.engine import URL

STUDY, FOLDER = "regard.study", "regard.folder"
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
BUSY_SECONDS = 120  # that a worker waits for a file which another one is writing


def url_of(database: Path) -> str:
    return f"sqlite:///{database}"


def open_storage(url: str, create: bool) -> "RDBStorage":
    """The storage behind a URL; one that cannot be reached is named in a sentence, its password left out."""
    optuna = _optuna()
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):  # the latter where a port is no number
        shown = re.sub(r"//.*@", "//…@", url)  # whatever is wrong with it, it may hold a password
        raise ConfigError(
            f"storage {shown!r}: not a URL; expected sqlite:///file.db or postgresql://user@host/name"
        ) from None
    name = DRIVERS.get(parts.drivername, parts.drivername)
    parts, where = parts.set(drivername=name), without_password(url)
    options: dict[str, Any] = {"pool_pre_ping": True}  # a server may have closed what has been idle for long
    if name.startswith("sqlite"):
        if not create and not Path(parts.database or "").is_file():
            raise RunError(f"storage {where}: no such file. Begin a study with `regard tune study.toml`.")
        options = {"connect_args": {"timeout": BUSY_SECONDS}}
    try:
        with _one_at_a_time(parts):
            return optuna.storages.RDBStorage(parts.render_as_string(hide_password=False), engine_kwargs=options)
    except (SQLAlchemyError, ImportError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        raise RunError(
            f"storage {where}: cannot be reached ({reason}). Check the address, and that somebody answers there."
        ) from None


def errors() -> tuple[type[Exception], ...]:
    """What a storage raises that is gone, or does not answer."""
    from sqlalchemy.exc import SQLAlchemyError

    return (_optuna().exceptions.OptunaError, SQLAlchemyError)


def without_password(url: str) -> str:
    """The URL as it may be shown and kept: a password belongs into PGPASSWORD or ~/.pgpass."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)._replace(password=None)
    except (ArgumentError, ValueError):
        return url
    return parts.difference_update_query(["password", "passfile"]).render_as_string()


def begin(storage: "RDBStorage", study: Study, text: str, folder: Path) -> "optuna.Study":
    """The study in its storage, made there if it is new."""
    optuna = _optuna()
    direction = "maximize" if study.up else "minimize"
    found = optuna.create_study(storage=storage, study_name=study.name, direction=direction, load_if_exists=True)
    if STUDY not in found.user_attrs:
        found.set_user_attr(FOLDER, str(folder.resolve()))
        found.set_user_attr(STUDY, text)
    return found


def join(storage: "RDBStorage", name: str | None, where: str) -> "optuna.Study":
    """A study that somebody has begun: the one of this name, or the only one."""
    optuna = _optuna()
    names = optuna.get_all_study_names(storage)
    if not names:
        raise RunError(f"storage {where}: holds no study yet. Begin one with `regard tune study.toml --storage URL`.")
    if name is None and len(names) > 1:
        raise ConfigError(f"storage {where}: holds several studies, {', '.join(sorted(names))}; name one with --study")
    if name is not None and name not in names:
        raise ConfigError(f"storage {where}: holds no study called {name!r}; there are: {', '.join(sorted(names))}")
    found = optuna.load_study(study_name=name or names[0], storage=storage)
    if STUDY not in found.user_attrs:
        raise RunError(f"storage {where}: the study {found.study_name!r} was not made by `regard tune`")
    return found


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ConfigError("tuning needs Optuna, which is not installed; pip install 'regard[tune]'") from None
    optuna.logging.set_verbosity(logging.ERROR)
    return optuna


@contextlib.contextmanager
def _one_at_a_time(url: "URL") -> Iterator[None]:
    """Workers that begin together would all make Optuna's tables: the first one makes them, the others wait."""
    if url.drivername.startswith("sqlite") and url.database:
        try:
            import fcntl
        except ImportError:  # no such thing on Windows; there workers begin one after the other
            yield
            return
        lock = Path(f"{url.database}.lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        return
    if not url.drivername.startswith("postgresql"):
        yield
        return
    from sqlalchemy import create_engine, text

    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(7238)"))
        yield
        connection.execute(text("SELECT pg_advisory_unlock(7238)"))
    engine.dispose()
