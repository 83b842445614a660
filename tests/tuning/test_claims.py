"""Several workers on one study, killed or not: each trial is claimed once and finished once."""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.tuning import open_study, storage
from regard.tuning.claims import FINISHED, TrialClaims, get_host_id, is_dead, is_paused, new_owner
from tests.tuning.synthetic import study_of, until

SPACE = {"model.layers": [1, 2, 3], "model.dropout": [0.1, 0.2, 0.3, 0.4]}
ROOT = Path(__file__).parent.parent.parent


def start(url: str, folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.tuning.workers", url, str(folder), str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def lines(folder: Path, name: str) -> dict[str, list[str]]:
    return {path.parent.name: path.read_text().split() for path in sorted(folder.glob(f"trials/*/{name}"))}


def assert_each_once(url: str, folder: Path, count: int) -> None:
    """Every trial is done, has one line in the storage, one value, and no combination was tried twice."""
    study_worker = open_study.join_study(url, None, folder)
    assert [row.state for row in study_worker.claims.rows()] == [FINISHED] * count
    trials = study_worker.optuna_study.get_trials()
    assert len(trials) == count and all(trial.state.name == "COMPLETE" for trial in trials)
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == count
    assert sorted(trial.value for trial in trials) == list(range(1, count + 1))
    assert [result.state for result in study_worker.results()] == ["complete"] * count
    study_worker.close()


def two_workers(url: str, folder: Path) -> None:
    both = [start(url, folder, 0.05) for _ in range(2)]
    errors = [worker.communicate()[1] for worker in both]
    assert [worker.returncode for worker in both] == [0, 0], errors
    assert_each_once(url, folder, 12)
    taken = lines(folder, "taken.txt")
    assert len(taken) == 12 and all(len(who) == 1 for who in taken.values())
    assert {who for one in taken.values() for who in one} == {str(worker.pid) for worker in both}


def test_two_workers_on_one_sqlite_study_take_each_trial_once(tmp_path: Path):
    open_study.create_study(study_of(sampler="grid", space=SPACE), tmp_path / "s")
    two_workers(storage.sqlite_url(tmp_path / "s" / "study.db"), tmp_path / "s")


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[str]:
    """A PostgreSQL of our own, under its own user where we are root, which it refuses to be."""
    servers = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not servers:
        pytest.skip("PostgreSQL is not installed (Debian: make system)")
    home = Path("/tmp") / f"regard-postgres-{os.getpid()}"
    home.mkdir()
    user: dict[str, str] = {}
    if os.getuid() == 0:
        if "postgres" not in {entry.pw_name for entry in pwd.getpwall()}:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        shutil.chown(home, "postgres")
        user = {"user": "postgres"}
    name = user.get("user") or pwd.getpwuid(os.getuid()).pw_name
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    make = [servers[-1].with_name("initdb"), "-D", home / "data", "-A", "trust", "--no-sync"]
    subprocess.run(make, check=True, capture_output=True, cwd="/", **user)
    options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(home), "-c", "fsync=off"]
    log = (tmp_path / "postgres.log").open("wb")
    server = subprocess.Popen([servers[-1], "-D", home / "data", *options], stdout=log, stderr=log, cwd="/", **user)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        time.sleep(1)  # it listens a moment before it answers
        yield f"postgresql://{name}@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)
        log.close()
        shutil.rmtree(home, ignore_errors=True)


def test_two_workers_on_postgresql_take_each_trial_once(postgres: str, tmp_path: Path):
    pytest.importorskip("psycopg", reason="psycopg is not installed (the extra `tune`)")
    open_study.create_study(study_of(sampler="grid", space=SPACE, storage=postgres), tmp_path / "s").close()
    two_workers(postgres, tmp_path / "s")


@pytest.mark.slow
def test_workers_killed_many_times_leave_every_trial_finished_once(tmp_path: Path):
    open_study.create_study(study_of(sampler="grid", space=SPACE), tmp_path / "s")
    url, rng, kills = storage.sqlite_url(tmp_path / "s" / "study.db"), random.Random(5), 0
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        worker = start(url, tmp_path / "s", 0.4)
        if kills < 5:
            begun = len(lines(tmp_path / "s", "taken.txt"))
            while worker.poll() is None and len(lines(tmp_path / "s", "taken.txt")) <= begun + kills % 2:
                time.sleep(0.02)
            time.sleep(rng.uniform(0.0, 0.5))
            worker.send_signal(signal.SIGKILL)
            kills += 1
        error = worker.communicate()[1]
        if worker.returncode == 0:
            break
        assert worker.returncode == -signal.SIGKILL, error
    assert kills == 5
    assert_each_once(url, tmp_path / "s", 12)


def test_a_trial_is_taken_by_one_of_many_at_once(tmp_path: Path):
    study_worker = open_study.create_study(study_of(sampler="grid", space=SPACE), tmp_path / "s")
    study_worker.claims.add_trials(12)
    rivals = [TrialClaims(study_worker.storage.engine, "made", owner=f"elsewhere|1|x|{n}") for n in range(5)]
    rows = study_worker.claims.rows()
    assert [sum(rival._claim(row) for rival in rivals) for row in rows] == [
        1
    ] * 12  # all read the same row, one claims it


def test_a_silent_worker_elsewhere_loses_its_trial_and_learns_of_it(tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets={"a": {"model.layers": 2}}), tmp_path / "s")
    study_worker.claims.add_trials(1)
    far = TrialClaims(study_worker.storage.engine, "made", owner="elsewhere|1|x|far")
    assert far.claim() == 1
    near = TrialClaims(study_worker.storage.engine, "made", grace_period_seconds=0.2)
    assert near.claim() is None  # it may be alive: the grace period is not over
    time.sleep(0.3)
    assert far._update(1, heartbeat=far.claims_table.c.heartbeat + 1) and near.claim() is None  # it is
    time.sleep(0.3)
    assert near.claim() == 1
    assert not far.finish(1) and near.finish(1)


def test_a_dead_process_of_this_machine_is_known_to_be_gone():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    here, _, born, rest = new_owner().split("|")
    assert is_dead("|".join((here, str(child.pid), born, rest)))
    assert not is_dead(new_owner()) and not is_dead("elsewhere|1|x|y")
    assert is_dead("|".join((here, str(os.getpid()), "1", rest)))  # the number was given to another process


def test_a_paused_worker_keeps_its_trial_until_it_is_dead(tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets={"a": {"model.layers": 2}}), tmp_path / "s")
    study_worker.claims.add_trials(1)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    born = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
    paused = TrialClaims(study_worker.storage.engine, "made", owner=f"{get_host_id()}|{child.pid}|{born}|x")
    near = TrialClaims(study_worker.storage.engine, "made", grace_period_seconds=0.2)
    try:
        assert paused.claim() == 1 and not is_paused(paused.owner)
        child.send_signal(signal.SIGSTOP)
        until(lambda: is_paused(paused.owner))
        assert near.claim() is None
        time.sleep(0.5)
        assert near.claim() is None  # which a worker that runs would have lost by now
        child.send_signal(signal.SIGCONT)
        until(lambda: not is_paused(paused.owner))
        assert near.claim() is None and not is_dead(paused.owner)  # it has time to send a heartbeat again
        child.kill()
        until(lambda: is_dead(paused.owner))  # although it is a zombie that is still listed
        assert near.claim() == 1
    finally:
        child.kill()
        child.wait()
        study_worker.close()
