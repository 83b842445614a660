"""What a worker does with the events of training; training itself is simulated."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from regard import config as settings
from regard.data.batch import DataPosition
from regard.errors import BusyError, ConfigError, DataError, FormatError, ModelError, RegardError, RunError
from regard.jobs.train import fit as job
from regard.jobs.train.events import Alarm, TrainingInterrupted, TrainingProgress, ValidationFinished
from regard.run import Run
from regard.training.loop import Step
from regard.training.validate import Validation
from regard.tuning import claims, open_study, results, storage, worker
from regard.tuning.events import TrialEvent, TrialFinished, TrialInterrupted, WorkerIdle
from regard.tuning.measure import RunSummary
from regard.tuning.propose import propose_params
from tests.tuning.synthetic import study_of, until

LOOKS = 10


def make_summary(value: float) -> RunSummary:
    return RunSummary(1000, LOOKS, 1.0, 1.0, 1.0, value, unigram_loss=9.0)


@pytest.fixture
def pretended(monkeypatch) -> list[tuple[str, int]]:
    """Runs whose dev loss is ten times their dropout; each is recorded with its number of validations."""
    trained: list[tuple[str, int]] = []
    losses: dict[str, float] = {}

    def fit(folder: Path, config, overwrite: bool, stop) -> Iterator[object]:
        folder.mkdir(parents=True)
        loss = losses[folder.name] = 10 * config.model.dropout + config.train.seed / 100
        for look in range(1, LOOKS + 1):
            yield TrainingProgress(Step(look, DataPosition(), loss, 0.5, 1, 1.0, 1.0, 1.0), look / LOOKS, 1.0)
            yield ValidationFinished(Validation(look, loss, 0.5, None, 0.1), False)
            if stop():
                trained.append((folder.name, look))
                yield TrainingInterrupted(Run(folder), look)
                return
        if config.model.dropout > 0.85:
            (folder / "config.toml").write_text("")
            (folder / "versions.json").write_text('{"regard": "1"}')
            raise DataError("the loss is no longer a finite number at step 7")
        trained.append((folder.name, LOOKS))

    monkeypatch.setattr(job, "train_run", fit)
    monkeypatch.setattr(
        worker, "evaluate_trial_run", lambda run, sentences, device: make_summary(losses[run.folder.name])
    )
    monkeypatch.setattr(worker, "summarize_log", lambda run: make_summary(losses[run.folder.name]))
    return trained


def finish(tmp_path: Path, **fields) -> tuple:
    study_worker = open_study.create_study(study_of(**fields), tmp_path / "s")
    last = list(worker.run_trials(study_worker, lambda: False))[-1]
    study_worker.close()
    return last.trials


def dropouts(*values: float) -> dict:
    return {f"set {n}": {"model.dropout": value} for n, value in enumerate(values, start=1)}


@pytest.mark.parametrize(("pruner", "pruned"), [("none", []), ("median", [6]), ("halving", [6])])
def test_weak_trials_are_stopped_early_and_never_taken_up_again(pruner: str, pruned: list, pretended, tmp_path: Path):
    sets = dropouts(0.30, 0.31, 0.32, 0.33, 0.20, 0.80)
    trials = finish(tmp_path, sets=sets, pruner=pruner)
    states = {trial.number: trial.state for trial in trials}
    assert states[6] == ("pruned" if 6 in pruned else "complete") and states[5] == "complete"
    looks = dict(pretended)
    assert (looks["0006"] < LOOKS) == bool(pruned) and looks["0005"] == LOOKS
    assert not next(t for t in trials if t.number == 6).is_ranked or not pruned
    count = len(pretended)
    finish(tmp_path, sets=sets, pruner=pruner)
    assert len(pretended) == count


def test_several_seeds_are_several_runs_and_one_mean(pretended, tmp_path: Path):
    trials = finish(tmp_path, sets=dropouts(0.1, 0.2), seeds=3)
    assert [name for name, _ in pretended] == ["0001", "0001.seed2", "0001.seed3", "0002", "0002.seed2", "0002.seed3"]
    assert trials[0].values == pytest.approx((1.01, 1.02, 1.03)) and trials[0].value == pytest.approx(1.02)
    assert len(trials[0].folders) == 3


def test_a_training_that_fails_is_told_and_the_study_goes_on(pretended, tmp_path: Path):
    trials = finish(tmp_path, sets=dropouts(0.1, 0.9, 0.2))
    assert [trial.state for trial in trials] == ["complete", "failed", "complete"]
    assert "no longer a finite number" in trials[1].reason and not trials[1].is_ranked


def refusing(monkeypatch, error: RegardError, at: float = 0.9) -> None:
    """Training that raises before there is a run, if dropout is at least `at`."""
    trained = job.train_run

    def fit(folder: Path, config, overwrite: bool, stop) -> Iterator[object]:
        if config.model.dropout >= at:
            raise error
        yield from trained(folder, config, overwrite, stop)

    monkeypatch.setattr(job, "train_run", fit)


@pytest.mark.parametrize("error", [ConfigError("900.0 GB are too much"), ModelError("too long for its positions")])
def test_settings_that_are_refused_fail_their_trial_alone(error, pretended, monkeypatch, tmp_path: Path):
    refusing(monkeypatch, error)
    trials = finish(tmp_path, sets=dropouts(0.1, 0.9, 0.2))
    assert [(trial.state, trial.reason) for trial in trials] == [
        ("complete", ""),
        ("failed", str(error)),
        ("complete", ""),
    ]
    assert not trials[1].folders and len(pretended) == 2
    assert finish(tmp_path, sets=dropouts(0.1, 0.9, 0.2)) == trials and len(pretended) == 2


@pytest.mark.parametrize("error", [FormatError("a.en: no such file"), RunError("full disk"), DataError("only numbers")])
def test_what_no_setting_can_mend_ends_the_study_and_leaves_the_trial_to_be_tried_again(
    error, pretended, monkeypatch, tmp_path: Path
):
    with monkeypatch.context() as broken:
        refusing(broken, error)
        with pytest.raises(type(error), match=str(error)):
            finish(tmp_path, sets=dropouts(0.1, 0.9, 0.2))
    assert [trial.state for trial in finish(tmp_path, sets=dropouts(0.1, 0.9, 0.2))][::2] == ["complete"] * 2
    assert [name for name, _ in pretended] == ["0001", "0003"]


def test_texts_that_cannot_be_cut_fail_the_trial_that_says_how(pretended, monkeypatch, tmp_path: Path):
    refusing(monkeypatch, DataError("no vocabulary of that size"))
    sets = dropouts(0.1, 0.9)
    for point in sets.values():
        point["data.vocab_size"] = 300
    assert [trial.state for trial in finish(tmp_path, sets=sets)] == ["complete", "failed"]


def test_a_worker_without_the_device_takes_no_trial(pretended, tmp_path: Path):
    study = study_of(sets=dropouts(0.1), base={"data": {"train": ["a.en"]}, "train": {"device": "hpu"}})
    study_worker = open_study.create_study(study, tmp_path / "s")
    with pytest.raises(ConfigError, match="is not available"):
        list(worker.run_trials(study_worker, lambda: False))
    assert study_worker.claims.rows() == [] and pretended == []
    study_worker.close()


def test_how_far_a_trial_is_can_be_seen_from_elsewhere(pretended, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0.0)
    study_worker = open_study.create_study(study_of(sets=dropouts(0.3)), tmp_path / "s")
    other = open_study.load_study(tmp_path / "s")
    results_seen = [
        other.peek()[0] for event in worker.run_trials(study_worker, lambda: False) if isinstance(event, TrialEvent)
    ]
    running = [one.progress for one in results_seen if one.state == "running"]
    assert [now.step for now in running[1::2]][:3] == [1, 2, 3] and running[-1].loss == pytest.approx(3.01)
    study_worker.close()
    other.close()


def hiccup(*_: object, **__: object) -> None:
    raise OperationalError("UPDATE", {}, Exception("server closed the connection"))


def test_a_trial_that_was_taken_from_us_is_not_told_by_us(pretended, tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets=dropouts(0.1)), tmp_path / "s")
    rival, events_so_far = claims.TrialClaims(study_worker.storage.engine, "made", owner="elsewhere|1|x|y"), []
    events = worker._run_trials(study_worker, lambda: False)
    for event in events:
        events_so_far.append(event)
        if len(events_so_far) == 4:  # during training; the next heartbeat is seconds away
            assert rival._claim(study_worker.claims.rows()[0])
        if isinstance(event, WorkerIdle):
            break
    assert not [event for event in events_so_far if isinstance(event, TrialFinished)] and len(pretended) == 1
    assert [trial.state.name for trial in study_worker.optuna_study.get_trials()] == ["RUNNING"]
    assert study_worker.claims.rows()[0].owner == rival.owner
    events.close()
    study_worker.close()


def test_a_pulse_outlives_a_storage_that_does_not_answer(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(claims, "HEARTBEAT_SECONDS", 0.01)
    study_worker = open_study.create_study(study_of(sets=dropouts(0.1)), tmp_path / "s")
    study_worker.claims.add_trials(1)
    assert study_worker.claims.claim() == 1
    before, change, failed = study_worker.claims.rows()[0].heartbeat, claims.TrialClaims._update, []

    def now_and_then(self, number: int, **values: object) -> bool:
        if len(failed) < 3:
            failed.append(number)
            hiccup()
        return change(self, number, **values)

    monkeypatch.setattr(claims.TrialClaims, "_update", now_and_then)
    with study_worker.claims.keep_alive(1) as lost:
        until(lambda: study_worker.claims.rows()[0].heartbeat > before)
        assert len(failed) == 3 and not lost.is_set()
        rival = claims.TrialClaims(study_worker.storage.engine, "made", owner="elsewhere|1|x|y")
        until(lambda: rival._claim(study_worker.claims.rows()[0]))
        assert lost.wait(20)
    study_worker.close()


@pytest.fixture
def busy(pretended, monkeypatch) -> list[str]:
    """Another process trains in every folder, and ends after three attempts."""
    trained, looks = job.train_run, []

    def fit(folder: Path, config, overwrite: bool, stop) -> Iterator[object]:
        looks.append(folder.name)
        if len(looks) <= 3:
            raise BusyError(f"{folder}: another process is training there")
        yield from trained(folder, config, overwrite, stop)

    monkeypatch.setattr(job, "train_run", fit)
    monkeypatch.setattr(worker, "POLL_SECONDS", 0.01)
    return looks


def test_a_run_that_somebody_else_still_trains_is_waited_for(busy, pretended, tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets=dropouts(0.1)), tmp_path / "s")
    events_so_far = list(worker.run_trials(study_worker, lambda: False))
    alarms = [
        event.event.text for event in events_so_far if isinstance(event, TrialEvent) and isinstance(event.event, Alarm)
    ]
    assert len(alarms) == 1 and "still training in" in alarms[0]  # said once, however long it takes
    assert [trial.state for trial in events_so_far[-1].trials] == ["complete"] and len(busy) == 4
    study_worker.close()


def test_who_waits_for_a_run_can_be_stopped(busy, pretended, tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets=dropouts(0.1)), tmp_path / "s")
    assert isinstance(list(worker.run_trials(study_worker, lambda: len(busy) == 2))[-1], TrialInterrupted)
    assert study_worker.claims.rows()[0].state == claims.WAITING and not pretended
    study_worker.close()


def test_what_others_are_told_as_training_goes_ends_nothing(pretended, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(worker, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(worker, "asdict", hiccup)  # which is called for that alone
    assert [trial.state for trial in finish(tmp_path, sets=dropouts(0.1))] == ["complete"]


def test_a_storage_that_is_gone_is_one_sentence_and_the_trial_is_told_later(pretended, monkeypatch, tmp_path: Path):
    with monkeypatch.context() as broken:
        broken.setattr(claims.TrialClaims, "send_heartbeat", hiccup)
        broken.setattr(worker, "STORAGE_TIMEOUT_SECONDS", 0.0)
        message = r"study\.db does not answer \(server closed the connection\).*resume with `regard tune .*s`"
        with pytest.raises(RunError, match=message):
            finish(tmp_path, sets=dropouts(0.1))
    monkeypatch.setattr(claims, "is_dead", lambda owner: True)  # the worker that had it
    monkeypatch.setattr(worker, "is_run", lambda folder: False)
    (tmp_path / "s" / "trials" / "0001").rmdir()
    assert [trial.state for trial in finish(tmp_path, sets=dropouts(0.1))] == ["complete"]


def test_connections_to_a_server_are_tried_before_they_are_used(monkeypatch):
    import optuna

    monkeypatch.setattr(storage, "_schema_lock", lambda url: contextlib.nullcontext())
    monkeypatch.setattr(optuna.storages, "RDBStorage", lambda url, engine_kwargs: engine_kwargs)
    assert storage.open_storage("postgresql://me@server/studies", create=False) == {"pool_pre_ping": True}


def test_a_study_may_grow_by_sets_that_come_last_and_by_trials(pretended, tmp_path: Path):
    sets = dropouts(0.1, 0.2, 0.3)
    finish(tmp_path, sets=sets, only=["set 1", "set 2"])
    trials = finish(tmp_path, sets=sets)
    assert [name for name, _ in pretended] == ["0001", "0002", "0003"] and trials[2].state == "complete"
    with pytest.raises(ConfigError, match="not removed or inserted between them"):
        finish(tmp_path, sets=sets, only=["set 3"])
    with pytest.raises(ConfigError, match="another sets"):
        finish(tmp_path, sets=dropouts(0.1, 0.2, 0.4))
    space = {"model.dropout": "0.1..0.4"}
    finish(tmp_path / "drawn", sampler="random", space=space, trials=2)
    assert len(finish(tmp_path / "drawn", sampler="random", space=space, trials=4)) == 4
    assert len(pretended) == 7


def test_a_storage_that_is_silent_for_a_moment_costs_nothing(pretended, monkeypatch, tmp_path: Path):
    finished, failed = claims.TrialClaims.finish, []

    def at_first(self, number: int) -> bool:
        if not failed:
            failed.append(number)
            hiccup()
        return finished(self, number)

    monkeypatch.setattr(claims.TrialClaims, "finish", at_first)
    monkeypatch.setattr(worker.TrialRunner, "_report_validation", hiccup)
    assert [trial.state for trial in finish(tmp_path, sets=dropouts(0.1))] == ["complete"] and failed == [1]


def test_a_worker_leaves_alone_what_its_study_does_not_know(pretended, tmp_path: Path):
    sets = dropouts(0.1, 0.2, 0.3)
    before = open_study.create_study(study_of(sets=sets, only=["set 1"]), tmp_path / "s")
    open_study.create_study(study_of(sets=sets), tmp_path / "s").claims.add_trials(3)  # another worker has enlarged it
    rival = claims.TrialClaims(before.storage.engine, "made", owner="elsewhere|1|x|y")
    assert rival.claim() == 1
    assert isinstance(
        list(worker.run_trials(before, lambda: True))[-1], WorkerIdle
    )  # the second is free, but unknown to this one
    rival.release(1)
    assert [trial.number for trial in list(worker.run_trials(before, lambda: False))[-1].trials] == [1]
    before.close()


def test_a_study_may_become_smaller(pretended, tmp_path: Path):
    space = {"model.dropout": "0.1..0.4"}
    larger = open_study.create_study(study_of(sampler="random", space=space, trials=5), tmp_path / "s")
    larger.claims.add_trials(5)
    larger.close()
    trials = finish(tmp_path, sampler="random", space=space, trials=2)
    assert [(trial.number, trial.state) for trial in trials] == [(1, "complete"), (2, "complete")]


def test_what_was_begun_and_is_held_by_nobody_was_interrupted(pretended, monkeypatch, tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets=dropouts(0.1, 0.2)), tmp_path / "s")
    stopped = list(worker.run_trials(study_worker, lambda: len(study_worker.optuna_study.get_trials()) > 0))
    assert isinstance(stopped[-1], TrialInterrupted)
    assert [result.state for result in study_worker.results()] == ["interrupted", "waiting"]
    assert study_worker.claims.claim() == 1 and study_worker.results()[0].state == "running"
    monkeypatch.setattr(results, "is_dead", lambda owner: True)
    assert study_worker.results()[0].state == "interrupted"
    study_worker.close()


def test_two_workers_that_look_at_the_same_past_try_different_things(tmp_path: Path):
    space = {"model.layers": [1, 2], "model.heads": [4, 8]}
    clashes = 0
    for seed in range(12):
        study = study_of(sampler="tpe", space=space, trials=4, seed=seed)
        study_worker = open_study.create_study(study, tmp_path / f"{seed}")
        clashes += propose_params(study, 1, [])[1] == propose_params(study, 2, [])[1]
        points = [worker._propose_params(study_worker, number)[1] for number in (1, 2, 3, 4)]
        assert len({tuple(sorted(point.items())) for point in points}) == 4
        assert (
            worker._propose_params(study_worker, 2)[1] == points[1]
        )  # killed before it was written down, and begun again
        study_worker.close()
    assert clashes  # else nothing was tested


def test_a_folder_of_another_study_is_not_joined(tmp_path: Path):
    open_study.create_study(study_of(sets=dropouts(0.1)), tmp_path / "a").close()
    open_study.create_study(study_of(sets=dropouts(0.2)), tmp_path / "b").close()
    url = storage.sqlite_url(tmp_path / "a" / "study.db")
    with pytest.raises(ConfigError, match="b: holds a study with another sets"):
        open_study.join_study(url, None, tmp_path / "b")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("")
    with pytest.raises(RunError, match="already exists and is not a study"):
        open_study.join_study(url, None, tmp_path / "full")
    open_study.join_study(url, None, tmp_path / "c").close()
    open_study.join_study(url, None, tmp_path / "c").close()


def test_a_study_whose_storage_is_gone_is_not_begun_anew(tmp_path: Path):
    open_study.create_study(study_of(sets=dropouts(0.1)), tmp_path / "s").close()
    (tmp_path / "s" / "study.db").unlink()
    with pytest.raises(RunError, match=r"study\.db: no such file"):
        open_study.create_study(study_of(sets=dropouts(0.1), pruner="median"), tmp_path / "s")


def test_no_password_is_kept_however_it_is_given():
    for url in ("postgresql://me:secret@host/db", "postgresql://me@host/db?password=secret&sslmode=require"):
        assert "secret" not in storage.redact_password(url) and "me@host/db" in storage.redact_password(url)
    assert "sslmode" in storage.redact_password(url)


TYPED_SPACE = {
    "model.layers": [1, 2],
    "model.norm": ["pre"],
    "data.joint_vocab": [True],
    "model.dropout": "0..0.5 by 0.25",
    "train.warmup": "log 10..1000",
    "train.learning_rate": "log 1e-4..1e-2",
}
TYPES = {
    "model.layers": int,
    "model.norm": str,
    "data.joint_vocab": bool,
    "model.dropout": float,
    "train.warmup": int,
    "train.learning_rate": float,
}


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_values_keep_their_types_from_proposal_through_storage_to_config(sampler: str, tmp_path: Path):
    study = study_of(sampler=sampler, space=TYPED_SPACE, trials=3, metric="bleu")
    study_worker = open_study.create_study(study, tmp_path / "s")
    study_worker.claims.add_trials(1)
    trial, _ = worker._start_trial(study_worker, 1)
    study_worker.close()
    reopened = open_study.load_study(tmp_path / "s")
    stored = reopened.results()[0].params
    reopened.close()
    assert stored == trial.params and {name: type(value) for name, value in stored.items()} == TYPES
    config = settings.flatten(study.build_config(stored).model_dump())
    assert {name: config[name] for name in TYPES} == stored
