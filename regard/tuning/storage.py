"""Storage of a study: Optuna's tables, in a file of the study folder or on a server."""

import contextlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from regard.atomic import SURROGATES
from regard.errors import ConfigError, RunError
from regard.files import open_lock, open_regular, resolve
from regard.tuning.study import Study

if TYPE_CHECKING:
    import optuna
    from optuna.storages import RDBStorage
    from sqlalchemy.engine import URL

STUDY_ATTR, FOLDER_ATTR = "regard.study", "regard.folder"
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
HIDDEN = "…"
HARMLESS_PARAMETERS = frozenset(
    {
        *("sslmode", "sslnegotiation", "channel_binding", "gssencmode", "connect_timeout", "target_session_attrs"),
        *("application_name", "host", "port", "timeout", "check_same_thread"),
    }
)
HARMLESS_VALUE = re.compile(r"[A-Za-z0-9_./-]{1,60}")
HARMLESS_NAME = re.compile(r"[\w.~+-]{0,100}")
"""The user, the host and the database of a server; other characters may be a password that is written wrong."""
HARMLESS_FILE = re.compile(r"[^;#&]*")
URL_SEPARATORS = re.compile(r"[:/?#\[\]@&=;,\s]+")
MIN_SECRET = 3  # characters: a shorter word would be found in any sentence
SQLITE_HEAD = b"SQLite format 3\0"
SQLITE_TIMEOUT_SECONDS = 120  # wait for a file that another worker is writing


def sqlite_url(database: Path) -> str:
    """The URL of a file, whose name may hold the characters that divide URLs."""
    _import_optuna()
    from sqlalchemy.engine import URL

    if SURROGATES.search(str(database)):
        raise ConfigError(f"{database}: its name is not UTF-8, as that of a database must be; choose another folder")
    return URL.create("sqlite", database=str(database)).render_as_string()


def open_storage(url: str, create: bool) -> "RDBStorage":
    """Open the storage of a URL; error messages never contain its password."""
    optuna = _import_optuna()
    from sqlalchemy.exc import SQLAlchemyError

    parsed_url, safe_url = _parse_url(url), redact_password(url)
    if parsed_url is None:
        raise ConfigError(
            f"storage {safe_url}: not a URL; expected sqlite:///file.db or postgresql://user@host/name"
        ) from None
    driver = DRIVERS.get(parsed_url.drivername, parsed_url.drivername)
    parsed_url = parsed_url.set(drivername=driver)
    options: dict[str, Any] = {"pool_pre_ping": True}  # servers close idle connections
    if driver.startswith("sqlite"):
        if not create and not Path(parsed_url.database or "").is_file():
            raise RunError(f"storage {safe_url}: no such file. Start a study with `regard tune study.toml`.")
        if not Path(parsed_url.database or "").parent.is_dir():
            raise RunError(f"storage {safe_url}: its folder does not exist; create it first")
        _require_database(Path(parsed_url.database or ""), safe_url)
        options = {"connect_args": {"timeout": SQLITE_TIMEOUT_SECONDS}}
    try:
        with _schema_lock(parsed_url):
            return optuna.storages.RDBStorage(parsed_url.render_as_string(hide_password=False), engine_kwargs=options)
    except Exception as error:  # of SQLAlchemy, of Alembic, of a driver: all of them may quote the address
        if not isinstance(error, SQLAlchemyError | ImportError | OSError | ValueError | TypeError | RuntimeError):
            error_name = type(error).__name__
            raise RunError(f"storage {safe_url}: not a storage of Optuna ({error_name})") from None
        raise RunError(
            f"storage {safe_url}: cannot be reached ({redact_message(first_line(error), url)}). Check the address, and "
            f"that the server runs."
        ) from None


def _require_database(path: Path, safe_url: str) -> None:
    """Refuse a file that is no SQLite database, before a library reads it."""
    if not path.exists():
        return
    try:
        with open_regular(path) as file:
            head = file.read(len(SQLITE_HEAD))
    except OSError as error:
        raise RunError(f"storage {safe_url}: cannot be read ({error.strerror or error})") from None
    if head not in (b"", SQLITE_HEAD):
        raise RunError(f"storage {safe_url}: not a SQLite database; restore it from a copy, or name another")


def storage_errors() -> tuple[type[Exception], ...]:
    """The exceptions of a storage that does not answer."""
    from sqlalchemy.exc import SQLAlchemyError

    return (_import_optuna().exceptions.OptunaError, SQLAlchemyError)


def first_line(error: Exception) -> str:
    """The first line of an error message, without SQLAlchemy's wrapper."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0]


def redact_password(url: str) -> str:
    """The URL without what may be secret, to be printed and stored; the password belongs in PGPASSWORD or ~/.pgpass.

    What is known to be harmless is kept, everything else is left out: an address that is written wrong may hold a
    password anywhere.
    """
    parsed_url = _parse_url(url)
    if parsed_url is None or not _is_harmless(parsed_url):
        scheme = re.match(r"[a-z0-9_+]{1,30}(?=://)", url)
        return f"{scheme[0] if scheme else ''}://{HIDDEN}"
    secret_names = [
        name
        for name, value in parsed_url.query.items()
        if name not in HARMLESS_PARAMETERS or not isinstance(value, str) or not HARMLESS_VALUE.fullmatch(value)
    ]
    return parsed_url._replace(password=None).difference_update_query(secret_names).render_as_string()


def _is_harmless(url: "URL") -> bool:
    """Whether the parts of a URL that are shown are names, and nothing else is hidden in them."""
    database = HARMLESS_FILE if url.drivername.startswith("sqlite") else HARMLESS_NAME
    names = all(HARMLESS_NAME.fullmatch(part or "") for part in (url.username, url.host))
    return names and database.fullmatch(url.database or "") is not None


def redact_message(message: str, url: str) -> str:
    """A message of another library without any part of the URL that `redact_password` leaves out."""
    shown = redact_password(url)
    message = message.replace(url, shown)
    kept_words = {form for word in URL_SEPARATORS.split(shown) for form in (word, unquote(word))}
    words = {*URL_SEPARATORS.split(url), *URL_SEPARATORS.split(unquote(url))}  # an encoded separator is one, too
    for word in sorted(words, key=len, reverse=True):
        for form in {word, unquote(word)} - kept_words:
            message = message.replace(form, HIDDEN) if len(form) >= MIN_SECRET else message
    return message


def _parse_url(url: str) -> "URL | None":
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return None if SURROGATES.search(url) else make_url(url)
    except (ArgumentError, ValueError):  # ValueError: the port is not a number
        return None


def create_optuna_study(storage: "RDBStorage", study: Study, text: str, folder: Path) -> "optuna.Study":
    """The study in its storage, created there if it is new."""
    optuna_study = _import_optuna().create_study(
        storage=storage, study_name=study.name, direction=study.direction, load_if_exists=True
    )
    if STUDY_ATTR not in optuna_study.user_attrs:
        optuna_study.set_user_attr(FOLDER_ATTR, str(resolve(folder)))
        optuna_study.set_user_attr(STUDY_ATTR, text)
    _require_readable_trials(optuna_study, redact_password(study.storage) if study.storage else str(folder))
    return optuna_study


def load_optuna_study(storage: "RDBStorage", name: str | None, safe_url: str) -> "optuna.Study":
    """An existing study of the storage: the one of this name, or the only one."""
    optuna = _import_optuna()
    names = optuna.get_all_study_names(storage)
    if not names:
        raise RunError(
            f"storage {safe_url}: holds no study yet. Start one with `regard tune study.toml --storage URL`."
        )
    if name is None and len(names) > 1:
        raise ConfigError(
            f"storage {safe_url}: holds several studies, {', '.join(sorted(names))}; select one with --study"
        )
    if name is not None and name not in names:
        raise ConfigError(f"storage {safe_url}: holds no study called {name!r}; available: {', '.join(sorted(names))}")
    optuna_study = optuna.load_study(study_name=name or names[0], storage=storage)
    if STUDY_ATTR not in optuna_study.user_attrs:
        raise RunError(f"storage {safe_url}: the study {optuna_study.study_name!r} was not created by `regard tune`")
    _require_readable_trials(optuna_study, safe_url)
    return optuna_study


def _require_readable_trials(optuna_study: "optuna.Study", place: str) -> None:
    """Refuse trials with values that are none of their column, such as a date that is no date."""
    try:
        optuna_study.get_trials(deepcopy=False)
    except storage_errors():
        raise
    except Exception as error:  # of the column's type, in SQLAlchemy, json or Optuna
        raise RunError(
            f"storage {place}: damaged: a trial of the study {optuna_study.study_name!r} cannot be read "
            f"({first_line(error)}); restore it from a copy"
        ) from None


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ConfigError(
            "tuning needs Optuna, which is not installed; in Regard's source folder: pip install '.[tune]'"
        ) from None
    optuna.logging.set_verbosity(logging.ERROR)
    return optuna


@contextlib.contextmanager
def _schema_lock(url: "URL") -> Iterator[None]:
    """Serialize the creation of Optuna's tables among workers that start together."""
    if url.drivername.startswith("sqlite") and url.database:
        try:
            import fcntl
        except ImportError:  # not available on Windows; there, start workers one after the other
            yield
            return
        with open_lock(Path(f"{url.database}.lock")) as file:
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
