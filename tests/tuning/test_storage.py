"""The storage of a study: no password is shown or written, and nothing is created that was not asked for."""

import os
import stat
from pathlib import Path
from urllib.parse import unquote

import pytest

from regard.errors import ConfigError, RegardError, RunError
from regard.tuning import open_study, storage
from tests.tuning.synthetic import study_of

pytest.importorskip("optuna")
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


@pytest.mark.parametrize("name", ["a?b", "a%41", "a{0}", "a#b;c=d", "a b"])
def test_the_name_of_a_study_folder_is_taken_as_it_is(name: str, tmp_path: Path):
    open_study.create_study(study_of(sets=SETS), tmp_path / name).close()
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name / "study.db").is_file()
    open_study.load_study(tmp_path / name).close()


def test_a_study_folder_whose_name_is_not_utf8_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="its name is not UTF-8"):
        open_study.create_study(study_of(sets=SETS), tmp_path / os.fsdecode(b"\xff"))
    assert list(tmp_path.iterdir()) == []
