"""Training in Python, and the run that comes of it."""

import dataclasses
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard
from regard.api.terminal import interruptible
from regard.errors import ConfigError
from regard.run import Run
from tests.api.conftest import SMALL


@pytest.fixture(autouse=True)
def heeded_signals() -> Iterator[None]:
    """Ctrl-C as in a terminal: tests that run in the background ignore it, and so would the program."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_run_is_a_path(trained: Path):
    run = regard.open_run(trained / "runs" / "mine")
    assert Path(run) == run.folder and regard.open_run(run) == run
    assert isinstance(regard.load(run), regard.TranslationModel)


def test_a_run_knows_its_settings_scores_and_curves(trained: Path):
    run = regard.open_run(trained / "runs" / "mine")
    assert run.config.model.dim == 32 and run.step == 7 and run.finished
    assert {"bleu", "chrf", "ter", "rouge", "accuracy"} <= set(run.scores["test"])
    assert run.parameters == sum(p.numel() for p in run.load().translator.model.parameters())
    steps = [row["step"] for row in run.curves.rows() if row["set"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6, 7]
    html = run._repr_html_()
    assert html.count("<svg") == len(run.charts) >= 2 and "nrefs:1" in html and "en → fr" in html


def test_what_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(regard.RegardError, match="no such run"):
        regard.open_run(tmp_path / "nothing")


def test_events_are_frozen_and_lead_to_the_same_run(trained: Path, tmp_path: Path):
    events = list(
        regard.training_events(
            trained / "pairs.tsv", out=tmp_path / "again", steps=7, source="en", target="fr", settings=SMALL
        )
    )
    assert all(dataclasses.is_dataclass(event) and event.__dataclass_params__.frozen for event in events)
    kinds = [type(event) for event in events]
    assert kinds.count(regard.TrainingProgress) == 7 and kinds.count(regard.TrainingStarted) == 1
    assert kinds[-1] is regard.TrainingFinished and regard.ValidationFinished in kinds
    first, second = (Run(folder).best_weights() for folder in (trained / "runs" / "mine", tmp_path / "again"))
    assert first.read_bytes() == second.read_bytes()  # same seed, same result


def test_settings_come_last_and_options_before_them(tmp_path: Path, trained: Path):
    events = regard.training_events(
        trained / "pairs.tsv", out=tmp_path / "x", steps=7, seed=3, settings={**SMALL, "train.steps": 1}
    )
    assert sum(isinstance(event, regard.TrainingProgress) for event in events) == 1
    assert regard.open_run(tmp_path / "x").config.train.seed == 3


def test_mistakes_are_errors_before_anything_is_written(tmp_path: Path, trained: Path):
    with pytest.raises(ConfigError, match=r"unknown setting 'model\.dropuot'; did you mean 'model\.dropout'"):
        regard.training_events(trained / "pairs.tsv", out=tmp_path / "x", settings={"model.dropuot": 0.2})
    with pytest.raises(ConfigError, match="nothing to train on"):
        regard.train(out=tmp_path / "x")
    with pytest.raises(ConfigError, match="continues a run as it is"):
        regard.train("a.tsv", resume=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_stopped_run_is_resumed_bit_for_bit(trained: Path, tmp_path: Path):
    steps = 0

    def should_stop() -> bool:
        nonlocal steps
        steps += 1
        return steps == 3

    events = regard.training_events(
        trained / "pairs.tsv",
        out=tmp_path / "x",
        steps=7,
        source="en",
        target="fr",
        settings=SMALL,
        should_stop=should_stop,
    )
    *_, last = events
    assert isinstance(last, regard.TrainingInterrupted) and last.step == 3
    stopped = regard.open_run(tmp_path / "x")
    assert not stopped.finished and "not finished" in repr(stopped) and str(stopped) == str(tmp_path / "x")
    run = regard.train(resume=tmp_path / "x")
    assert run.finished and run.step == 7
    weights = [Run(folder).weights(7).read_bytes() for folder in (trained / "runs" / "mine", tmp_path / "x")]
    assert weights[0] == weights[1]


def test_ctrl_c_saves_and_raises(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from regard.jobs.train.session import TrainingSession

    original = TrainingSession._after_step

    def press_ctrl_c(session, step):
        if step.number == 3:
            signal.raise_signal(signal.SIGINT)
        yield from original(session, step)

    monkeypatch.setattr(TrainingSession, "_after_step", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt, match=r"saved at step 3; continue with regard\.train\(resume="):
        regard.train(trained / "pairs.tsv", out=tmp_path / "x", steps=7, settings=SMALL)
    assert regard.open_run(tmp_path / "x").step == 3


def test_signals_do_afterwards_what_they_did_before():
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as should_stop:
        assert signal.getsignal(signal.SIGINT) is not before
        with pytest.raises(KeyboardInterrupt):  # before the first step there is nothing to save
            signal.raise_signal(signal.SIGINT)
        assert not should_stop()
        signal.raise_signal(signal.SIGINT)
        assert should_stop() and should_stop.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_the_finished_model_is_scored_is_not_lost(trained: Path, tmp_path: Path, monkeypatch):
    from regard.jobs.tasks.translation.task import TranslateTask

    original = TranslateTask.write_scores

    def press_ctrl_c(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return original(*arguments, **options)

    monkeypatch.setattr(TranslateTask, "write_scores", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt, match="x is complete"):
        regard.train(trained / "pairs.tsv", out=tmp_path / "x", steps=2, settings=SMALL)
    assert regard.open_run(tmp_path / "x").finished


def test_another_thread_installs_no_handler():
    answers = []

    def ask() -> None:
        with interruptible() as should_stop:
            answers.append(should_stop())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert answers == [False]


def test_alarms_are_warnings_where_no_progress_is_shown(trained: Path, tmp_path: Path, monkeypatch):
    from regard.api import training

    monkeypatch.setattr(
        training.fit, "train_run", lambda *arguments: iter([regard.Alarm("the loss does not fall"), regard.Note("x")])
    )
    monkeypatch.setattr(training, "open_run", lambda folder: None)
    with pytest.warns(regard.RegardWarning, match="the loss does not fall"):
        regard.train(trained / "pairs.tsv", out=tmp_path / "x", steps=1, settings=SMALL)


def test_progress_goes_to_standard_error(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    regard.train(trained / "pairs.tsv", out=tmp_path / "x", steps=1, settings=SMALL, progress=True)
    shown = capsys.readouterr()
    assert shown.out == "" and "BLEU" in shown.err
    regard.train(resume=tmp_path / "x", steps=2)
    assert capsys.readouterr() == ("", "")
