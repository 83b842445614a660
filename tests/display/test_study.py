"""The live table: every trial with its settings, step, dev loss, BLEU and time left; the same as lines in a file."""

import io
import threading
from pathlib import Path

from rich.console import Console

from regard.data.batch import DataPosition
from regard.display.study import StudyDisplay, poll_workers
from regard.jobs.train.events import TrainingProgress, ValidationFinished
from regard.metrics import Score
from regard.training.loop import Step
from regard.training.validate import Validation
from regard.tuning.events import StudyFinished, StudyStarted, TrialEvent, TrialFinished, TrialStarted
from regard.tuning.folder import StudyFolder
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialProgress, TrialResult

POINT = {"model.layers": 2, "model.dropout": 0.25}
MEASURED = RunSummary(1000, 77, 1.0, 2.0, 3.0, 3.21, scores={"bleu": {"name": "BLEU", "value": 17.5}})
HAPPENED = [
    StudyStarted(
        "mine",
        "BLEU",
        "BLEU",
        (TrialResult(1, "set 1", "waiting", POINT), TrialResult(2, "set 2", "waiting", {"model.layers": 4})),
    ),
    TrialStarted(1, "set 1", POINT, False),
    TrialEvent(1, 0, TrainingProgress(Step(42, DataPosition(), 3.0, 0.4, 100, 1.0, 1.0, 0.5), 0.5, 61.0)),
    TrialEvent(1, 0, ValidationFinished(Validation(42, 3.456, 0.4, Score("BLEU", 12.3, 1.0, 2.0, "s"), 1.0), True)),
]


def make_display(terminal: bool, width: int = 140) -> tuple[StudyDisplay, io.StringIO]:
    display, sink = StudyDisplay(StudyFolder(Path("s"))), io.StringIO()
    display.console = Console(file=sink, force_terminal=terminal, width=width, color_system=None)
    display._live.console = display.console
    return display, sink


def shown(terminal: bool, *more: object) -> str:
    display, sink = make_display(terminal)
    with display:
        for event in (*HAPPENED, *more):
            display.handle(event)
        if terminal:
            display._draw(force=True)
    return sink.getvalue()


def test_a_terminal_has_a_table_with_everything_in_it():
    table = shown(True).split("trial  name")[-1]
    for words in (
        "settings",
        "dev loss",
        "BLEU",
        "left",
        "score (BLEU)",
        "layers=2 dropout=0.25",
        "42",
        "3.456",
        "12.3",
        "1:01",
    ):
        assert words in table, words
    assert "running" in table and "waiting" in table


def test_settings_can_be_read_in_a_narrow_terminal():
    display, sink = make_display(True, width=80)
    many = POINT | {f"model.{name}": 128 for name in ("dim", "heads", "ffn", "encoder_layers")}
    display.handle(StudyStarted("mine", "BLEU", "BLEU", (TrialResult(1, "quarter 4 as taught", "waiting", many),)))
    display.console.print(display._table(5))
    assert "encoder_layers=128" in "".join(sink.getvalue().split()) and "…" not in sink.getvalue()


def test_a_file_has_lines_and_the_table_at_the_end():
    done = TrialResult(1, "set 1", "complete", POINT, 17.5, (17.5,), (MEASURED,))
    lost = TrialResult(2, "set 2", "failed", {"model.layers": 4}, reason="the loss is no longer a finite number")
    out = shown(False, TrialFinished(done), TrialFinished(lost), StudyFinished((done, lost)))
    assert "trial 1 (set 1) starts: layers=2 dropout=0.25" in out and "dev loss 3.456, BLEU 12.3" in out
    assert "trial 1 (set 1): dev BLEU 17.50" in out and "trial 2 (set 2): failed: the loss is no longer" in out
    assert out.rstrip().split("\n")[-1].split()[:3] == ["2", "set", "2"] and "17.5" in out


def test_trials_of_other_workers_are_seen_as_they_go_and_ours_is_left_alone():
    display, sink = make_display(True)
    theirs = TrialResult(2, "set 2", "running", {"model.layers": 4}, progress=TrialProgress(1234, 125.0, 2.718, 9.5))
    stale = TrialResult(1, "set 1", "running", POINT, progress=TrialProgress(7))
    with display:
        for event in HAPPENED:
            display.show(event)
        display.show_other_workers((stale, theirs))
    ours, other = (line.split() for line in sink.getvalue().split("trial  name")[-1].split("\n")[1:3])
    assert ours[-4:] == ["42", "3.456", "12.3", "1:01"]
    assert other[-5:] == ["running", "1,234", "2.718", "9.5", "2:05"]


def test_the_storage_is_looked_at_while_nothing_happens_here_and_not_without_a_table():
    looked, threads = threading.Event(), threading.active_count()

    def peek() -> tuple[TrialResult, ...]:
        looked.set()
        raise OSError("the server is away for a moment")  # which the table outlives

    display, _ = make_display(True)
    with display, poll_workers(display, peek, 0.01):
        for _ in range(2):
            assert looked.wait(30)
            looked.clear()
    assert threading.active_count() == threads
    display, _ = make_display(False)
    with display, poll_workers(display, peek, 0.01):
        assert threading.active_count() == threads


def test_a_failure_is_told_once_with_its_reason():
    lost = TrialResult(2, "set 2", "failed", {"model.layers": 4}, reason="training would take about 900.0 GB")
    text = shown(True, TrialFinished(lost), StudyFinished((lost,)))
    assert text.count("trial 2 (set 2): failed: training would take about 900.0 GB") == 1
