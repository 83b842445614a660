"""The table of claims, the storage and the folder of a study, without any worker."""

from pathlib import Path

import pytest

sqlalchemy = pytest.importorskip("sqlalchemy", reason="the extra `tune` is not installed")

from regard.errors import ConfigError, RunError  # noqa: E402
from regard.tuning import claims as claims_room  # noqa: E402
from regard.tuning import open_study, storage  # noqa: E402
from regard.tuning.claims import CLAIMED, FINISHED, WAITING, TrialClaims, get_host_id, is_dead, new_owner  # noqa: E402
from regard.tuning.folder import StudyFolder, is_study_folder  # noqa: E402
from regard.tuning.results import TrialProgress, collect_results, trials_by_number  # noqa: E402
from tests.tuning.synthetic import study_of, until  # noqa: E402


@pytest.fixture
def engine(tmp_path: Path):
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/t.db")
    yield engine
    engine.dispose()


def states(claims: TrialClaims) -> list[str]:
    return [row.state for row in claims.rows()]


def test_trials_are_claimed_in_order_finished_and_released(engine):
    mine, other = TrialClaims(engine, "a"), TrialClaims(engine, "a", owner="elsewhere|1|x|y")
    mine.add_trials(3)
    mine.add_trials(2)
    other.add_trials(4)
    assert states(mine) == [WAITING] * 4 and [row.number for row in mine.rows()] == [1, 2, 3, 4]
    assert mine.claim() == 1 and other.claim() == 2 and mine.claim(2) is None and mine.claim(3) == 3
    assert states(mine) == [CLAIMED, CLAIMED, CLAIMED, WAITING]
    assert not mine.finish(2) and not mine.finish(4) and mine.finish(1) and not mine.finish(1)
    mine.release(2)  # not its own
    assert states(mine)[1] == CLAIMED
    other.release(2)
    assert states(mine) == [FINISHED, WAITING, CLAIMED, WAITING] and mine.rows()[1].owner == ""
    assert mine.has_unfinished() and not mine.has_unfinished(1) and mine.has_unfinished(2)
    assert mine.claim() == 2


def test_another_study_of_the_same_storage_is_not_touched(engine):
    one, two = TrialClaims(engine, "a"), TrialClaims(engine, "b")
    one.add_trials(2)
    two.add_trials(1)
    assert one.claim() == 1 and two.claim() == 1 and two.claim() is None
    assert two.finish(1) and states(one) == [CLAIMED, WAITING] and not two.has_unfinished() and one.has_unfinished()
    assert one.reserve_params(1, {"x": 1}) and two.reserve_params(1, {"x": 1})
    two.release_params(1)
    assert not one.reserve_params(2, {"x": 1})


def test_a_combination_belongs_to_one_trial(engine):
    claims = TrialClaims(engine, "a")
    assert claims.reserve_params(1, {"x": 1, "y": 0.1 + 0.2}) and not claims.reserve_params(2, {"y": 0.3, "x": 1})
    assert claims.reserve_params(2, {"x": 2})
    claims.release_params(1)
    assert claims.reserve_params(3, {"x": 1, "y": 0.3}) and not claims.reserve_params(3, {"x": 2})


def test_a_heartbeat_shows_that_a_claim_is_alive(engine):
    claims = TrialClaims(engine, "a")
    claims.add_trials(1)
    assert not claims.send_heartbeat(1)
    claims.claim()
    before = claims.rows()[0].heartbeat
    assert claims.send_heartbeat(1) and claims.rows()[0].heartbeat == before + 1 and before == 1


def test_a_claim_that_is_lost_is_noticed_by_its_heartbeat(engine, monkeypatch):
    monkeypatch.setattr(claims_room, "HEARTBEAT_SECONDS", 0.02)
    claims = TrialClaims(engine, "a")
    claims.add_trials(1)
    claims.claim()
    with claims.keep_alive(1) as lost:
        until(lambda: claims.rows()[0].heartbeat > 2)
        assert not lost.is_set()
        claims.finish(1)
        assert lost.wait(20)


def test_an_owner_is_a_process_of_a_machine():
    host, pid, started, _ = new_owner().split("|")
    assert host == get_host_id() and started and new_owner() != new_owner()
    assert not is_dead(new_owner()) and not is_dead(f"elsewhere|{pid}|{started}|x") and is_dead(f"{host}|{pid}|7|x")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/db", "postgresql://me@host/db"),
        ("postgresql://me@host:5432/db?sslmode=require", "postgresql://me@host:5432/db?sslmode=require"),
        ("postgresql://me@host/db?sslpassword=secret", "postgresql://me@host/db"),
        ("postgresql://me@host/db?sslmode=se@cret", "postgresql://me@host/db"),
        ("sqlite:///file.db", "sqlite:///file.db"),
        ("postgresql:/me:secret@host/db", "://…"),
        ("postgresql://me:sec@ret@host:port/db", "postgresql://…"),
        ("no url with a secret", "://…"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, shown: str):
    assert storage.redact_password(url) == shown


def test_a_message_is_shown_without_the_secrets_of_its_address():
    for url in ("postgresql://me:secret@host/db", "postgresql://me@host/db?sslpassword=secret", "a:secret@b/c"):
        message = storage.redact_message(f"no {url}: secret, as in me:secret, is wrong", url)
        assert "secret" not in message and message.startswith("no ") and message.endswith(" is wrong")
    plain = "postgresql://me@host/db"
    assert storage.redact_message(f"no {plain}: a secret", plain) == f"no {plain}: a secret"


def test_a_storage_that_cannot_be_is_refused(tmp_path: Path):
    pytest.importorskip("optuna")
    for url, error, message in (
        ("nothing", ConfigError, "not a URL"),
        (f"sqlite:///{tmp_path}/none.db", RunError, "no such file"),
    ):
        with pytest.raises(error, match=message):
            storage.open_storage(url, create=False)
    with pytest.raises(RunError, match="its folder does not exist"):
        storage.open_storage(f"sqlite:///{tmp_path}/no/none.db", create=True)
    (tmp_path / "text.db").write_text("this is no database at all")
    with pytest.raises(RunError, match="not a SQLite database"):
        storage.open_storage(f"sqlite:///{tmp_path}/text.db", create=True)


def test_a_study_is_found_by_its_name_or_because_it_is_the_only_one(tmp_path: Path):
    optuna = pytest.importorskip("optuna")
    opened = storage.open_storage(storage.sqlite_url(tmp_path / "s.db"), create=True)
    with pytest.raises(RunError, match="holds no study yet"):
        storage.load_optuna_study(opened, None, "here")
    study = study_of(sets={"a": {"model.layers": 1}})
    storage.create_optuna_study(opened, study, "text", tmp_path)
    again = storage.create_optuna_study(opened, study, "other", tmp_path / "elsewhere")
    assert again.user_attrs[storage.STUDY_ATTR] == "text"
    assert again.user_attrs[storage.FOLDER_ATTR] == str(tmp_path.resolve())
    assert storage.load_optuna_study(opened, None, "here").study_name == "made"
    optuna.create_study(storage=opened, study_name="zeta")
    for name, message in ((None, "several studies, made, zeta; select one"), ("x", "no study called 'x'")):
        with pytest.raises(ConfigError, match=message):
            storage.load_optuna_study(opened, name, "here")
    with pytest.raises(RunError, match="was not created by `regard tune`"):
        storage.load_optuna_study(opened, "zeta", "here")
    assert storage.load_optuna_study(opened, "made", "here").study_name == "made"


def test_trials_that_have_not_started_are_listed(tmp_path: Path, engine):
    pytest.importorskip("optuna")
    study = study_of(sets={"a": {"model.layers": 1}, "b": {"model.layers": 2}, "c": {"model.layers": 3}})
    opened = storage.open_storage(storage.sqlite_url(tmp_path / "s.db"), create=True)
    optuna_study = storage.create_optuna_study(opened, study, "text", tmp_path)
    claims = TrialClaims(engine, "a")
    claims.add_trials(5)  # of a study that was larger
    claims.claim()
    found = collect_results(study, optuna_study, claims, StudyFolder(tmp_path))
    assert [(one.number, one.name, one.state, one.params) for one in found] == [
        (1, "a", "running", {"model.layers": 1}),
        (2, "b", "waiting", {"model.layers": 2}),
        (3, "c", "waiting", {"model.layers": 3}),
    ]
    assert trials_by_number(optuna_study) == {} and found[0].progress == TrialProgress()


def test_the_folder_of_a_study(tmp_path: Path):
    folder = StudyFolder(tmp_path)
    assert folder.trial_folder(7) == tmp_path / "trials" / "0007"
    assert folder.trial_folder(7, 1) == tmp_path / "trials" / "0007.seed2"
    assert not is_study_folder(tmp_path)
    folder.study_file.write_text("")
    assert is_study_folder(tmp_path)


def test_folders_of_studies_are_opened_and_others_are_refused(tmp_path: Path):
    pytest.importorskip("optuna")
    with pytest.raises(RunError, match="no such study"):
        open_study.load_study(tmp_path / "none")
    with pytest.raises(RunError, match=r"not a study folder \(it has no study\.toml\)"):
        open_study.load_study(tmp_path)
    study = study_of(sets={"a": {"model.layers": 1}, "b": {"model.layers": 2}})
    folder = tmp_path / "s"
    open_study.create_study(study, folder).close()
    again = open_study.load_study(folder)
    again.close()
    assert again.study == study
    joined = open_study.join_study(storage.sqlite_url(folder / "study.db"), None, None)
    joined.close()
    assert joined.study_folder.path == folder.resolve() and joined.study == study
    for other in (study_of(sets={"c": {"model.layers": 2}}), study_of(sets=study.sets, seed=2)):
        with pytest.raises(ConfigError, match="or start another study with --out"):
            open_study.create_study(other, folder)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").touch()
    with pytest.raises(RunError, match="already exists and is not a study"):
        open_study.create_study(study, tmp_path / "used")


def test_a_folder_that_names_a_server_is_for_its_owner(tmp_path: Path):
    for name, private, mode in (("a", True, 0o700), ("b", False, None)):
        open_study._make_folder(tmp_path / name, private)
        assert (tmp_path / name).is_dir() and (mode is None or (tmp_path / name).stat().st_mode & 0o777 == mode)
    (tmp_path / "b").chmod(0o755)
    open_study._make_folder(tmp_path / "b", private=True)  # which is somebody's already
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o755
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be created"):
        open_study._make_folder(tmp_path / "file" / "x", private=False)
