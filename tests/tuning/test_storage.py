"""The storage of a study: no password is shown or written, and nothing is created that was not asked for."""

import contextlib
import fcntl
import os
import sqlite3
import stat
from pathlib import Path
from urllib.parse import unquote

import pytest

from regard.errors import ConfigError, RegardError, RunError
from regard.tuning import open_study, storage
from tests.tuning.synthetic import study_of

optuna = pytest.importorskip("optuna")
make_url = pytest.importorskip("sqlalchemy").make_url
SETS = {"low": {"model.dropout": 0.1}}
SECRETS = ("hunter2", "hunter2%2Fsecret", "hunter2%40secret")
URLS_WITH_SECRETS = (
    "postgresql://me:{}@host/db",
    "postgresql://me@host/db?password={}",
    "postgresql://me@host/db?sslmode=require&sslpassword={}",
    "postgresql://me@host/db?PASSWORD={}",
    "postgresql://me@host/db?options=-c%20password%3D{}",
    "postgresql:/me:{}@host/db",
    "postgresql:me:{}@host/db",
    "me:{}@host/db",
    "//me:{}@host/db",
    "postgresql://me:{}@host:port/db",
    "postgresql://me:{}@[::1/db",
    "postgresql://me:p@{}@host/db",
    "postgresql://me:/#?{}@host/db",
    "postgresql://me%3A{}@host/db",
    "postgresql://me;{}@host/db",
    "postgresql://host/db#password={}",
    "postgresql://host/db;password={}",
    " postgresql://me:{}@host/db",
    "jdbc:postgresql://host/db?password={}",
    "host=host password={}",
    "sqlite:///a.db?key={}",
    "sqlite:///a.db;key={}",
    "password={}",
    "{}",
)


@pytest.mark.parametrize("form", URLS_WITH_SECRETS)
def test_no_part_of_a_url_that_may_be_secret_is_shown(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for secret in SECRETS:
        url = form.format(secret)
        assert "hunter2" not in storage.redact_password(url)
        assert "hunter2" not in storage.redact_message(f"cannot connect to {url}: user {secret} {unquote(secret)}", url)
        with pytest.raises(RegardError) as caught:
            storage.open_storage(url.replace("host", "127.0.0.1:1"), create=False)
        assert "hunter2" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_harmless_url_is_shown_whole():
    for url in ("postgresql://me@host:5432/db?sslmode=require", "sqlite:////tmp/some folder/a-b_c.db"):
        assert storage.redact_password(url) == url


def test_a_message_keeps_all_but_the_secret():
    url = "postgresql://me:hunter2@host/db?sslmode=require"
    shown = "postgresql://me@host/db?sslmode=require"
    for text in ("cannot reach {}: refused", "{}", "{} or {}"):
        assert storage.redact_message(text.format(url, url), url) == text.format(shown, shown)
    assert storage.redact_message("the password hunter2 of me at host is wrong", url) == (
        "the password … of me at host is wrong"
    )
    assert storage.redact_message(f"{shown} is closed", url) == f"{shown} is closed"


def test_the_folder_of_a_storage_is_not_created(tmp_path: Path):
    study = study_of(sets=SETS, storage=f"sqlite:///{tmp_path}/missing/study.db")
    with pytest.raises(RunError, match="its folder does not exist; create it first"):
        open_study.create_study(study, tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_study_that_names_a_server_is_for_its_owner_alone(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/shared.db"
    open_study.create_study(study_of(sets=SETS, storage=url), tmp_path / "a").close()
    open_study.join_study(url, None, tmp_path / "b").close()
    (tmp_path / "empty").mkdir()
    open_study.join_study(url, None, tmp_path / "empty").close()
    for name in ("a", "b"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
    for name in ("a", "b", "empty"):
        assert stat.S_IMODE((tmp_path / name / "study.toml").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE trials SET datetime_complete = '../../x'",
        "UPDATE trials SET datetime_start = 7",
        "UPDATE trials SET state = 'x'",
        "UPDATE trial_user_attributes SET value_json = '{'",
    ],
)
def test_a_storage_with_a_value_that_is_none_is_damaged(damage: str, tmp_path: Path):
    study, url = study_of(sets=SETS), f"sqlite:///{tmp_path}/s/study.db"
    worker = open_study.create_study(study, tmp_path / "s")
    worker.optuna_study.enqueue_trial({"model.dropout": 0.1}, user_attrs={"name": "low"})
    worker.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "s" / "study.db")) as database, database:
        assert database.execute(damage).rowcount == 1
    openers = (
        lambda: open_study.create_study(study, tmp_path / "s"),
        lambda: open_study.load_study(tmp_path / "s"),
        lambda: open_study.join_study(url, None, tmp_path / "other"),
    )
    for opener in openers:
        with pytest.raises(RunError, match=rf"{tmp_path}.*: damaged: a trial of the study .* cannot be read"):
            opener()


@pytest.mark.parametrize("name", ["a?b", "a%41", "a{0}", "a#b;c=d", "a b"])
def test_the_name_of_a_study_folder_is_taken_as_it_is(name: str, tmp_path: Path):
    open_study.create_study(study_of(sets=SETS), tmp_path / name).close()
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name / "study.db").is_file()
    open_study.load_study(tmp_path / name).close()


def test_a_study_folder_whose_name_is_not_utf8_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="its name is not UTF-8"):
        open_study.create_study(study_of(sets=SETS), tmp_path / os.fsdecode(b"\xff"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "rendered"),
    [
        ("postgresql://me:word@host:5/db", "postgresql+psycopg://me:word@host:5/db"),
        ("postgres://me@host/db", "postgresql+psycopg://me@host/db"),
        ("postgresql+other://me@host/db", "postgresql+other://me@host/db"),
        ("mysql+some://me@host/db", "mysql+some://me@host/db"),
        ("sqlite:///file.db", "sqlite:///file.db"),
    ],
)
def test_a_storage_is_opened_by_the_driver_that_is_installed(url: str, rendered: str, tmp_path, monkeypatch):
    opened: list[tuple[str, dict]] = []
    locked: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("optuna.storages.RDBStorage", lambda url, engine_kwargs: opened.append((url, engine_kwargs)))
    monkeypatch.setattr(
        storage, "_schema_lock", lambda url: contextlib.nullcontext(locked.append(url.render_as_string(False)))
    )
    storage.open_storage(url, create=True)
    options = {"connect_args": {"timeout": 120}} if url.startswith("sqlite") else {"pool_pre_ping": True}
    assert opened == [(rendered, options)] and locked == [rendered]


class Server:
    """An engine that writes down what it is asked to do."""

    def __init__(self, events: list[str]):
        self.events = events

    @contextlib.contextmanager
    def connect(self):
        yield self

    def execute(self, statement: object) -> None:
        self.events.append(str(statement))

    def dispose(self) -> None:
        self.events.append("dispose")


def test_tables_are_created_by_one_worker_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    events: list[str] = []
    monkeypatch.setattr("sqlalchemy.create_engine", lambda url: Server(events))
    with storage._schema_lock(make_url("postgresql+psycopg://me@host/db")):
        events.append("inside")
    assert events == ["SELECT pg_advisory_lock(7238)", "inside", "SELECT pg_advisory_unlock(7238)", "dispose"]
    events.clear()
    for url in ("mysql+some://me@host/db", "sqlite://", f"sqlite:///{tmp_path}/a.db"):
        with storage._schema_lock(make_url(url)):
            names = [path.name for path in tmp_path.iterdir()]
        assert names == (["a.db.lock"] if "a.db" in url else []) and events == []
    with (
        storage._schema_lock(make_url(f"sqlite:///{tmp_path}/a.db")),
        (tmp_path / "a.db.lock").open("rb") as file,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "a.db.lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_study_of_a_storage_is_named_or_the_only_one():
    kept = optuna.storages.InMemoryStorage()
    with pytest.raises(RunError, match=r"^storage here: holds no study yet\. Start one with `regard tune study.toml"):
        storage.load_optuna_study(kept, None, "here")
    optuna.create_study(storage=kept, study_name="foreign")
    with pytest.raises(RunError, match=r"^storage here: the study 'foreign' was not created by `regard tune`$"):
        storage.load_optuna_study(kept, None, "here")
    mine = storage.create_optuna_study(kept, study_of(sets=SETS, name="mine"), "text", Path("some/folder"))
    assert mine.user_attrs == {
        storage.STUDY_ATTR: "text",
        storage.FOLDER_ATTR: str(Path("some/folder").resolve()),
    }
    again = storage.create_optuna_study(kept, study_of(sets=SETS, name="mine"), "another", Path("elsewhere"))
    assert again.user_attrs == mine.user_attrs, "what is there stays"
    assert storage.load_optuna_study(kept, "mine", "here").study_name == "mine"
    with pytest.raises(ConfigError, match=r"^storage here: holds several studies, foreign, mine; select one with"):
        storage.load_optuna_study(kept, None, "here")
    with pytest.raises(ConfigError, match=r"^storage here: holds no study called 'x'; available: foreign, mine$"):
        storage.load_optuna_study(kept, "x", "here")


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (b"SQLite format 3\0 and more", ""),
        (b"", ""),
        (b"SQLite format 2\0", "not a SQLite"),
        (b"SQLite", "not a SQLite"),
    ],
)
def test_a_file_that_is_no_database_is_not_opened(head: bytes, problem: str, tmp_path: Path):
    (tmp_path / "a.db").write_bytes(head)
    with pytest.raises(RunError, match=problem) if problem else contextlib.nullcontext():
        storage._require_database(tmp_path / "a.db", "here")
    storage._require_database(tmp_path / "missing", "here")
    with pytest.raises(RunError, match=r"^storage here: cannot be read \(is a folder; expected a regular file\)$"):
        storage._require_database(tmp_path, "here")
