"""The live table: every trial with its settings, step, dev loss, BLEU and time left; the same as lines in a file."""

import io
from pathlib import Path

from rich.console import Console

from regard.cli.show_study import StudyDisplay
from regard.data.batch import Place
from regard.jobs.events import Checked, Progress
from regard.metrics import Score
from regard.train.check import Check
from regard.train.loop import Step
from regard.tune.events import Began, Done, Ended, Planned, Went
from regard.tune.folder import StudyFolder
from regard.tune.measure import Measured
from regard.tune.results import Result

POINT = {"model.layers": 2, "model.dropout": 0.25}
MEASURED = Measured(1000, 77, 1.0, 2.0, 3.0, 3.21, scores={"bleu": {"value": 17.5}})
HAPPENED = [
    Planned("mine", "bleu", (Result(1, "set 1", "waiting", POINT), Result(2, "set 2", "waiting", {"model.layers": 4}))),
    Began(1, "set 1", POINT, False),
    Went(1, 0, Progress(Step(42, Place(), 3.0, 0.4, 100, 1.0, 1.0, 0.5), 0.5, 61.0)),
    Went(1, 0, Checked(Check(42, 3.456, 0.4, Score("BLEU", 12.3, 1.0, 2.0, "s"), 1.0), True)),
]


def shown(terminal: bool, *more: object) -> str:
    display, sink = StudyDisplay(StudyFolder(Path("s"))), io.StringIO()
    display.console = Console(file=sink, force_terminal=terminal, width=140, color_system=None)
    display._live.console = display.console
    with display:
        for event in (*HAPPENED, *more):
            display.take(event)
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


def test_a_file_has_lines_and_the_table_at_the_end():
    done = Result(1, "set 1", "complete", POINT, 17.5, (17.5,), (MEASURED,))
    lost = Result(2, "set 2", "failed", {"model.layers": 4}, reason="the loss is no longer a finite number")
    out = shown(False, Ended(done), Ended(lost), Done((done, lost)))
    assert "trial 1 (set 1) begins: layers=2 dropout=0.25" in out and "dev loss 3.456  BLEU 12.3 (greedy)" in out
    assert "trial 1 (set 1): dev BLEU 17.500" in out and "trial 2 (set 2): failed: the loss is no longer" in out
    assert out.rstrip().split("\n")[-1].split()[:3] == ["2", "set", "2"] and "17.5" in out
