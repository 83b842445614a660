"""Pieces of a worker, of results and of evidence, each without the others."""

import itertools
import socket
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("optuna")

import optuna

from regard.data.batch import DataPosition
from regard.errors import RunError
from regard.jobs.tasks.translation import sentence_charts
from regard.jobs.train.events import Note, TrainingProgress, ValidationFinished
from regard.metrics import PairedTestResult, Score
from regard.run import Run, write_text
from regard.training.loop import Step
from regard.training.validate import Validation
from regard.tuning import claims, open_study, propose, results, space, storage, worker
from regard.tuning.analysis import cost, curves, effects, evidence, findings
from regard.tuning.analysis.evidence import StudyAnalysis, compare_dev_examples, compare_seeds
from regard.tuning.analysis.findings import describe_correction, describe_significance, qualify_importances
from regard.tuning.claims import TrialClaims, is_dead, is_paused, new_owner
from regard.tuning.events import StudyStarted, TrialEvent, TrialInterrupted, TrialStarted
from regard.tuning.pages import comparison, study, task_comparison
from regard.tuning.results import TrialProgress, TrialResult, rank_trials
from tests.tuning.pages.test_study import analysis_of, result
from tests.tuning.synthetic import FOUR, make, make_summary, study_of

ONE = {"a": {"model.layers": 1}}
STUDY = study_of(sets=ONE, metric="bleu")


def test_limits_that_users_are_told_of():
    assert (claims.HEARTBEAT_SECONDS, claims.GRACE_PERIOD_SECONDS) == (5, 120)
    assert (worker.POLL_SECONDS, worker.PROGRESS_SECONDS, worker.STORAGE_TIMEOUT_SECONDS) == (2, 3, 60)
    assert (worker.PRUNER_STEPS, propose.N_STARTUP_TRIALS, propose.MAX_ATTEMPTS) == (20, 10, 200)
    assert (space.MAX_GRID_SIZE, space.MAX_ATTEMPTS, space.MAX_CHOICES, space.MAX_CONSTANT) == (
        20_000,
        2_000,
        10_000,
        1e15,
    )
    assert (space.MAX_CONDITIONS, space.MAX_CONDITION_CHARACTERS, space.MAX_TERMS) == (20, 1_000, 50)
    assert (storage.SQLITE_TIMEOUT_SECONDS, storage.MIN_SECRET, open_study.MAX_DEFAULT_GRID) == (120, 3, 64)
    assert (evidence.MAX_TESTED_TRIALS, evidence.MIN_TRIALS_FOR_FANOVA, effects.MAX_DISCRETE_VALUES) == (16, 4, 6)
    assert (findings.MIN_TRIALS_FOR_IMPORTANCE, findings.MAX_LISTED_TRIALS) == (10, 8)
    assert (curves.MIN_LOSS_RISE, cost.CLEAR_COST_RATIO) == (0.02, 0.9)
    assert (study.MAX_NAMED_CURVES, study.MAX_EXAMPLE_TRIALS, comparison.MAX_SHOWN_DIFFERENCES) == (6, 6, 5)
    assert (task_comparison.MAX_CONFUSION_CLASSES, task_comparison.MAX_SHOWN_ERRORS) == (30, 20)
    lengths = sentence_charts.LENGTH_BUCKETS
    assert sentence_charts.MIN_BUCKET_SENTENCES == 5 and [low for low, _ in lengths] == [1, 6, 11, 16, 21, 31]
    assert all(high + 1 == low for (_, high), (low, _) in itertools.pairwise(lengths)), "every length has a bucket"


def test_pruners_compare_shares_of_the_budget():
    halving = worker.build_pruner(study_of(sets=ONE, pruner="halving"))
    assert isinstance(halving, optuna.pruners.SuccessiveHalvingPruner)
    assert (halving._min_resource, halving._reduction_factor) == (2, 3)
    median = worker.build_pruner(study_of(sets=ONE, pruner="median"))
    assert isinstance(median, optuna.pruners.MedianPruner)
    assert (median._n_startup_trials, median._n_warmup_steps) == (4, 4)
    assert isinstance(worker.build_pruner(study_of(sets=ONE)), optuna.pruners.NopPruner)


def test_the_metric_of_a_validation():
    bleu = Score("BLEU", 7.0, 6.0, 8.0, "s")
    validation = Validation(3, 2.5, 0.25, bleu, 1.0)
    metrics = [study_of(sets=ONE, metric=name).ranking_metric for name in ("loss", "accuracy", "bleu", "chrf")]
    assert [metric.of_validation(validation) for metric in metrics] == [2.5, 25, 7, 7]
    assert metrics[-1].of_validation(replace(validation, score=None)) is None


def test_progress_follows_events():
    step = Step(7, DataPosition(), 3.0, 0.5, 1, 1.0, 1.0, 1.0)
    moved = TrialProgress(loss=4.0).with_event(TrainingProgress(step, 0.5, 11.0))
    assert moved == TrialProgress(7, 11.0, 4.0)
    validated = moved.with_event(
        ValidationFinished(Validation(7, 2.0, 0.5, Score("BLEU", 9.0, 8.0, 10.0, "s"), 1.0), True)
    )
    assert validated == TrialProgress(7, 11.0, 2.0, 9.0)
    silent = validated.with_event(ValidationFinished(Validation(7, 1.0, 0.5, None, 1.0), True))
    assert silent == TrialProgress(7, 11.0, 1.0, None) and silent.with_event(Note("x")) is silent


def test_a_storage_is_asked_again_until_the_timeout(monkeypatch: pytest.MonkeyPatch):
    clock, asked = [0.0], []
    fake = SimpleNamespace(monotonic=lambda: clock[0], sleep=lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    monkeypatch.setattr(worker, "time", fake)

    def query(failures: int) -> int:
        asked.append(clock[0])
        if len(asked) <= failures:
            raise storage.storage_errors()[0]("away")
        return 7

    assert worker._retry(lambda: query(3)) == 7 and asked == [0, 1, 2, 3]
    asked.clear()
    clock[0] = 0.0
    with pytest.raises(storage.storage_errors()[0]):
        worker._retry(lambda: query(999))
    assert asked[-1] == worker.STORAGE_TIMEOUT_SECONDS + 1
    clock[0] = 0.0
    assert not worker._wait(lambda: False) and 2.0 <= clock[0] < 2.2
    assert worker._wait(lambda: True) and clock[0] < 2.2


def test_owners_of_this_machine_and_of_others():
    host, pid, started, _ = new_owner().split("|")
    assert is_dead(f"{host}|999999999|1|x") and not is_dead(f"{host}|1|{claims._read_process_stat(1)[1]}|x")
    assert claims._read_process_stat(999999999) == ("", "") and claims._read_process_stat(int(pid)) == ("R", started)
    assert not is_paused(new_owner()) and not is_paused(f"elsewhere|{pid}|{started}|x")


def test_a_machine_is_its_name_its_boot_and_its_processes():
    """Two containers of one name are not one machine; on Linux the system says which is which."""
    host = claims.get_host_id().split("/")
    assert host[0] == socket.gethostname() and claims.get_host_id() == "/".join(host)
    known = [Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")]
    parts = [known[0].read_text().strip()] if known[0].exists() else []
    parts += [str(known[1].readlink())] if known[1].exists() else []
    assert host[1:] == parts


def test_a_worker_that_is_stopped_gives_its_trial_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    study_worker = open_study.create_study(
        study_of(sets={"a": {"model.layers": 1}, "b": {"model.layers": 2}}), tmp_path / "s"
    )

    def fit(folder: Path, config, overwrite: bool, stop):
        assert not overwrite and not folder.exists() and config.model.layers == 1
        folder.mkdir(parents=True)
        yield worker.TrainingInterrupted(Run(folder), 3)

    monkeypatch.setattr(worker.job, "train_run", fit)
    started, begun, inner, interrupted = worker.run_trials(study_worker, lambda: False)
    assert isinstance(started, StudyStarted) and [one.state for one in started.trials] == ["waiting"] * 2
    assert (started.name, started.metric) == ("made", "loss")
    assert begun == TrialStarted(1, "a", {"model.layers": 1}, False)
    assert isinstance(inner, TrialEvent) and (inner.number, inner.seed_index) == (1, 0)
    assert interrupted == TrialInterrupted(1)
    assert [one.state for one in study_worker.peek()] == ["interrupted", "waiting"]
    assert [row.state for row in study_worker.claims.rows()] == ["waiting"] * 2
    again = iter(worker.run_trials(study_worker, lambda: False))
    assert [next(again), next(again)][1] == TrialStarted(1, "a", {"model.layers": 1}, True)
    again.close()
    study_worker.close()


def test_an_outcome_is_stored_with_its_mean(tmp_path: Path):
    study_worker = open_study.create_study(study_of(sets=FOUR, metric="bleu", seeds=2), tmp_path / "s")
    study_worker.claims.add_trials(4)
    good = make_summary({}, 3.0, False), make_summary({}, 5.0, False)
    for number, (state, reason, summaries) in enumerate(
        (("complete", "", good), ("failed", "no memory", ()), ("pruned", "", good[:1]), ("complete", "", ())), start=1
    ):
        study_worker.claims.claim()
        trial, resumed = worker._start_trial(study_worker, number)
        assert trial is not None and not resumed and dict(trial.params) == FOUR[f"set {number}"]
        runner = worker.TrialRunner(study_worker, number, dict(trial.params), trial, lambda: False, state, reason)
        runner.seed_summaries = summaries
        runner.store_outcome()
        assert worker._start_trial(study_worker, number) == (None, True)
        study_worker.claims.finish(number)
    found = study_worker.results()
    assert [one.state for one in found] == ["complete", "failed", "pruned", "complete"]
    assert found[0].values == (19.0, 25.0) and found[0].value == 22.0 and found[1].reason == "no memory"
    assert found[1].value is None and found[2].value == 19.0 and found[2].name == "set 3"
    assert found[0].seed_summaries == good and found[0].params == FOUR["set 1"] and found[0].folders == ()
    states = [trial.state.name for trial in study_worker.optuna_study.get_trials()]
    assert states == ["COMPLETE", "FAIL", "PRUNED", "FAIL"]
    assert study_worker.optuna_study.get_trials()[0].value == 22.0
    study_worker.close()


def test_a_trial_is_told_by_the_first_seed_that_fails():
    good, bad = make_summary({}, 3.0, False), make_summary({}, 3.0, True)
    one = TrialResult(7, "7", "complete", {}, 3.0, (3.0,), (good, bad), (Path("x"), Path("y")))
    assert one.collapse_reason == bad.collapse_reason and one.diagnosis == one.verdict == "collapsed"
    assert not one.is_ranked and one.first_summary is good and one.first_run == Run(Path("x"))
    assert replace(one, seed_summaries=(good,)).is_ranked and replace(one, seed_summaries=(good,)).verdict == "complete"
    assert not replace(one, seed_summaries=(good,), state="pruned").is_ranked
    bare = TrialResult(7, "7", "waiting", {})
    assert bare.first_run is None and bare.first_summary is None and bare.diagnosis == bare.collapse_reason == ""


def row(state: str, owner: str) -> SimpleNamespace:
    return SimpleNamespace(state=state, owner=owner)


def test_a_trial_without_an_outcome_runs_waits_or_was_interrupted():
    dead = f"{new_owner().split('|')[0]}|999999999|1|x"
    assert results._unfinished_state(row(claims.FINISHED, ""), True) == "failed"
    assert results._unfinished_state(row(claims.CLAIMED, new_owner()), True) == "running"
    for started, state in ((True, "interrupted"), (False, "waiting")):
        assert results._unfinished_state(row(claims.CLAIMED, dead), started) == state
        assert results._unfinished_state(row(claims.WAITING, ""), started) == state


def test_two_studies_have_their_own_rows_and_keys(tmp_path: Path):
    opened = storage.open_storage(storage.sqlite_url(tmp_path / "s.db"), create=True)
    one, two = TrialClaims(opened.engine, "a"), TrialClaims(opened.engine, "b")
    one.add_trials(3)
    two.add_trials(2)
    values = {"study": "a", "number": 1, "state": claims.WAITING, "owner": "", "heartbeat": 0}
    assert not one._insert(one.claims_table, values) and one._insert(one.claims_table, values | {"number": 9})
    assert [found.number for found in one.rows()] == [1, 2, 3, 9] and [found.number for found in two.rows()] == [1, 2]
    for table in (one.claims_table, one.params_table):
        keys = [column.name for column in table.primary_key]
        assert keys == ["study", "number" if table is one.claims_table else "params"]
        assert not any(column.nullable for column in table.columns)
    lengths = {column.name: getattr(column.type, "length", None) for column in one.claims_table.columns}
    assert lengths == {"study": 200, "number": None, "state": 16, "owner": 400, "heartbeat": None}
    assert (one.params_table.c.study.type.length, one.params_table.c.params.type.length) == (200, 64)  # of SHA-256
    assert len(new_owner()) < 400
    assert one.claim(2) == 1 and one.claim(2) == 2 and one.claim(2) is None
    opened.engine.dispose()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    study_worker = make(study_of(sets=FOUR, metric="bleu"), tmp_path_factory.mktemp("f") / "s")
    yield study_worker, rank_trials(study_worker.study, study_worker.results())
    study_worker.close()


def test_trials_are_compared_where_they_translated_the_same_sentences(finished, tmp_path: Path):
    _, ranking = finished
    tests = compare_dev_examples(STUDY, ranking)
    assert list(tests) == [one.number for one in ranking[1:]]
    scores = {one.number: tests[one.number].score for one in ranking[1:]}
    assert all(test.difference < 0 and test.metric == "BLEU" for test in tests.values())
    best = {round(scores[number] - test.difference, 9) for number, test in tests.items()}
    assert len(best) == 1 and max(scores.values()) < best.pop()
    assert compare_dev_examples(STUDY, []) == {} and compare_dev_examples(STUDY, ranking[:1]) == {}
    unknown = replace(ranking[0], folders=())
    assert compare_dev_examples(STUDY, [unknown, *ranking[1:]]) == {}
    assert list(compare_dev_examples(STUDY, [ranking[0], replace(ranking[1], folders=()), *ranking[2:]])) == [
        one.number for one in ranking[2:]
    ]
    other = Run(tmp_path)
    lines = ranking[1].first_run.sentence_scores("dev").read_text().splitlines()
    write_text(other.sentence_scores("dev"), "\n".join([*lines[:-1]]) + "\n")
    assert ranking[1].number not in compare_dev_examples(
        STUDY, [ranking[0], replace(ranking[1], folders=(tmp_path,)), ranking[2]]
    )
    assert compare_dev_examples(STUDY, [ranking[0], replace(ranking[1], folders=(tmp_path,))]) == {}


def test_seeds_are_compared_with_those_of_the_best():
    study = study_of(sets=ONE, metric="bleu", seeds=3)
    ranking = [result(n, 30.0 - 5 * n, seeds=(-0.5, 0.0, 0.5)) for n in range(3)]
    tests = compare_seeds(study, ranking)
    assert list(tests) == [1, 2] and [test.difference for test in tests.values()] == [-5.0, -10.0]
    assert [test.score for test in tests.values()] == [25.0, 20.0] and tests[1].metric == "BLEU"
    assert all(test.significant and test.adjusted_p >= test.p for test in tests.values())
    assert compare_seeds(study, []) == {} and compare_seeds(study, [result(9, 40.0), *ranking]) == {}
    assert list(compare_seeds(study, [ranking[0], result(9, 28.0), ranking[1]])) == [1]
    many = [result(n, 30.0 - n, seeds=(-0.5, 0.0, 0.5)) for n in range(19)]
    assert len(compare_seeds(study, many)) == evidence.MAX_TESTED_TRIALS - 1


def test_the_ranking_counts_as_one_test_among_the_settings():
    trials = {2: PairedTestResult("BLEU", 1.0, 0.01, "s", -1.0), 3: PairedTestResult("BLEU", 1.0, 0.6, "s", -1.0)}
    found = evidence.correct_claims(trials, {"a": effects.EffectTest(0.03)})
    assert found.effects["a"].p_value == pytest.approx(0.03)
    assert [found.trials[n].adjusted_p for n in (2, 3)] == pytest.approx([0.02, 1.0]) and found.num_tests == 3
    later = evidence.correct_claims(trials, {"a": effects.EffectTest(0.004)})
    assert later.effects["a"].p_value == pytest.approx(0.008) and later.trials[2].adjusted_p == pytest.approx(0.01)
    assert evidence.correct_claims({}, {}).num_tests == 0


def test_the_tested_metric_is_that_of_the_tests(finished):
    """A study that is ranked by its loss is tested by BLEU: the loss of single sentences is not stored."""
    _, ranking = finished
    for metric, tested in (("loss", "BLEU"), ("bleu", "BLEU"), ("chrf", "chrF2"), ("accuracy", "BLEU")):
        study = study_of(sets=ONE, metric=metric)
        tests = compare_dev_examples(study, ranking)
        assert StudyAnalysis(study, ranking, tests=tests).tested_metric == tested
    assert StudyAnalysis(study_of(sets=ONE, seeds=2), []).tested_metric == "loss"


def test_an_analysis_has_the_curves_of_the_runs_that_exist(finished):
    study_worker, ranking = finished
    waiting = TrialResult(9, "9", "waiting", {})
    analysis, log_curves = evidence.analyze_study(study_worker.study, [*ranking, waiting])
    assert set(analysis.loss_curves) == set(log_curves) == {1, 2, 3, 4} and analysis.unit == "epochs"
    assert list(analysis.tests) == [one.number for one in ranking[1:]] and analysis.importances
    curve = analysis.loss_curves[1]
    assert len(curve.x) == 25 and curve.x[-1] == 25.0 and list(curve.x) == sorted(curve.x)
    assert len(log_curves[1].steps) == 150 and log_curves[1].steps[5].x == 1.0  # pooled two by two


def test_many_significant_trials_are_counted_instead_of_listed():
    def text(count: int) -> str:
        rows = [result(n, 30.0 - n) for n in range(count + 1)]
        tests = {n: PairedTestResult("BLEU", 30.0 - n, 0.0001, "s", -1.0 * n) for n in range(1, count + 1)}
        return describe_significance(analysis_of(*rows, tests=tests))

    assert text(5).count("p = ") == 5 and "set 5 (-5.0, p = " in text(5)
    assert "6 of the 6 tested trials, the best of them set 1 (-1.0, p = " in text(6)
    same = PairedTestResult("BLEU", 29.0, 1.0, "s", 0.0, 0)
    equal = describe_significance(analysis_of(result(0, 30.0), result(1, 30.0), tests={1: same}))
    assert "between set 0 and set 1 (the same translations)" in equal
    seeded = [result(n, 30.0 - n, seeds=(-0.1, 0.1)) for n in range(2)]
    tests = {1: PairedTestResult("BLEU", 29.0, 0.4, "s", -1.0)}
    assert "Not significant over these seeds: " in describe_significance(analysis_of(*seeded, tests=tests))
    assert "set 1 (-1.00, p = 0.400)" in describe_significance(analysis_of(*seeded, tests=tests))


def test_the_correction_names_the_number_of_tests():
    rows = [result(n, 30.0 - n) for n in range(3)]
    tests = {n: PairedTestResult("BLEU", 30.0 - n, 0.4, "s", -1.0 * n) for n in (1, 2)}
    assert "for the one test of this study" in describe_correction(analysis_of(*rows, tests={1: tests[1]}))
    assert "for all 2 tests of this study" in describe_correction(analysis_of(*rows, tests=tests))


def test_importances_of_many_trials_need_an_effect_to_be_a_finding():
    def note(count: int, gap: float) -> str:
        rows = [
            result(n, 20.0 + gap * (n % 2) + 0.01 * (n * 7 % 5), **{"model.layers": 2 + n % 2}) for n in range(count)
        ]
        return qualify_importances(analysis_of(*rows, importances={"model.layers": 0.9}))

    assert note(10, 5.0) == "" and note(9, 5.0) == "With 9 trials, this is only an indication."
    assert note(10, 0.0).startswith("No setting has a significant effect")


def test_the_last_error_of_a_storage_is_one_line():
    assert storage.first_line(ValueError(" one\ntwo")) == "one"
    wrapped = ValueError("wrapper")
    wrapped.orig = ValueError("inner\nmore")
    assert storage.first_line(wrapped) == "inner"
    with pytest.raises(RunError, match="not a SQLite database"):
        storage._require_database(Path(__file__), "here")
    storage._require_database(Path("none"), "here")
