"""Stages as people see them: a line that fits the terminal, or few lines in a file; nothing for short work."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from regard.display import stages
from regard.display.stages import StageDisplay
from regard.display.study import StudyDisplay
from regard.display.training import ProgressDisplay
from regard.progress import report_progress_to, stage, track
from regard.tuning.events import StudyStarted
from regard.tuning.folder import StudyFolder
from regard.tuning.results import TrialResult


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def only_this_test_ticks(monkeypatch):
    monkeypatch.setattr(stages, "REFRESH_SECONDS", 3600.0)


def make_display(width: int = 80, terminal: bool = True) -> tuple[StageDisplay, Clock, io.StringIO]:
    sink, clock = io.StringIO(), Clock()
    console = Console(file=sink, force_terminal=terminal, width=width, color_system=None, soft_wrap=True, _environ={})
    return StageDisplay(console, clock=clock), clock, sink


def drawn(display: StageDisplay) -> str:
    """What the live line shows now."""
    console = display.console
    return "".join(segment.text for segment in console.render(display, console.options)).rstrip("\n")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_line_fits_the_terminal_and_has_a_bar_a_count_and_the_time_left(width):
    display, clock, _ = make_display(width)
    scoring = display.start_stage("scoring", 1000)
    scoring.advance(320)
    clock.seconds += 6
    line = drawn(display)
    assert len(line) <= width and line.startswith("scoring ━━") and line.endswith(" 320 of 1,000, 0:12 left")
    assert line.count("━") == int(0.32 * 24) and line.count("━") + line.count("─") == 24


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    display, clock, _ = make_display(width)
    display.start_stage("comparing systems", 3)
    inner = display.start_stage("a description that is much too long for any terminal that people use", 123_456_789)
    inner.advance(23_456_789)
    clock.seconds += 100_000
    assert 0 < len(drawn(display)) <= width
    plain = stages.format_line(display._stages, clock(), width)
    assert len(plain) <= width
    if 60 <= width <= 80:
        assert drawn(display).endswith("…: 23,456,789 of 123,456,789, 118:25:15 left")


def test_nested_stages_stand_in_one_line_where_there_is_room():
    for width, line in (
        (100, "comparing systems (2 of 3): translating ━━━━━━━━━━━━──────────── 50 of 100, 0:10 left"),
        (72, "comparing systems (2 of 3): translating ━━━━━───── 50 of 100, 0:10 left"),
        (60, "translating ━━━━━━━━━━━━──────────── 50 of 100, 0:10 left"),
        (45, "translating ━━━━━───── 50 of 100, 0:10 left"),
        (34, "translating: 50 of 100, 0:10 left"),
    ):
        display, clock, _ = make_display(width)
        display.start_stage("comparing systems", 3).advance()
        inner = display.start_stage("translating", 100)
        inner.advance(50)
        clock.seconds += 10
        assert drawn(display) == line


def test_a_short_inner_stage_does_not_flicker():
    display, clock, _ = make_display()
    display.start_stage("measuring heads", None)
    clock.seconds += 5
    inner = display.start_stage("computing attention", 4)
    assert drawn(display) == "measuring heads: 0:05"
    inner.finish()
    assert drawn(display) == "measuring heads: 0:05"


def test_numbers_are_an_estimate_only_if_there_is_something_to_estimate_from():
    clock = Clock()
    display = StageDisplay(Console(file=io.StringIO()), clock=clock)
    for description, total, done, numbers in (
        ("training the tokenizer", None, 0, "0:20"),
        ("reading pairs", None, 5000, "5,000, 250 per second"),
        ("reading pairs", None, 50, "50, 2.5 per second"),
        ("translating", 1000, 0, "0 of 1,000"),
        ("translating", 1000, 10, "10 of 1,000, 0.5 per second"),
        ("translating", 1000, 500, "500 of 1,000, 0:20 left"),
        ("translating", 1000, 1000, "1,000 of 1,000, 0:00 left"),
    ):
        current = display.start_stage(description, total)
        current.advance(done)
        assert stages.format_line([current], clock() + 20, None) == f"{description}: {numbers}"


def test_a_terminal_draws_one_line_and_erases_it():
    display, clock, sink = make_display()
    current = display.start_stage("scoring", 4)
    clock.seconds += 0.4
    display.tick()
    assert sink.getvalue() == ""
    clock.seconds += 0.2
    display.tick()
    assert "scoring" in sink.getvalue() and "0 of 4" in sink.getvalue()
    current.finish()
    after = sink.getvalue().rpartition("0 of 4")[2]
    assert "\x1b[2K" in after and "\x1b[?25h" in after  # the line is erased, and the cursor is back
    display.start_stage("writing the page", None)  # it follows at once, so it is shown at once
    display.tick()
    assert "writing the page" in sink.getvalue()


def test_a_file_has_a_line_after_two_seconds_and_then_every_ten():
    display, clock, sink = make_display(terminal=False)
    current = display.start_stage("scoring", 1000)
    printed = []
    for second in range(1, 31):
        clock.seconds += 1
        current.advance(30)
        display.tick()
        printed += [second] * (sink.getvalue().count("\n") - len(printed))
    assert printed == [2, 12, 22]
    assert sink.getvalue().split("\n")[1] == "scoring: 360 of 1,000, 0:21 left"
    current.finish()
    assert sink.getvalue().count("\n") == 3


def test_short_stages_leave_no_trace_in_a_file():
    display, clock, sink = make_display(terminal=False)
    for _ in range(20):
        current = display.start_stage("scoring", 10)
        clock.seconds += 1.9
        display.tick()
        current.finish()
        display.tick()
    assert sink.getvalue() == ""


def test_stages_inside_another_have_no_more_lines_than_it():
    display, clock, sink = make_display(terminal=False)
    with report_progress_to(display):
        for _ in track(range(10), "comparing systems"):
            with stage("translating", 3) as current:
                for _ in range(3):
                    clock.seconds += 1
                    display.tick()
                    current.advance()
    assert sink.getvalue() == (
        "comparing systems (1 of 10): translating: 1 of 3, 0:04 left\n"
        "comparing systems (4 of 10): translating: 2 of 3, 0:01 left\n"
        "comparing systems (8 of 10): translating: 0 of 3\n"
    )


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "dumb", "NO_COLOR": "1"}])
def test_a_dumb_terminal_has_plain_lines_that_fit(variables):
    sink, clock = io.StringIO(), Clock()
    console = Console(file=sink, force_terminal=True, width=30, height=25, soft_wrap=True, _environ=variables)
    display = StageDisplay(console, clock=clock)
    display.start_stage("comparing systems", 3)
    display.start_stage("translating", 100).advance(50)
    clock.seconds += 3
    display.tick()
    assert sink.getvalue() == "transla…: 50 of 100, 0:03 left\n"


def test_no_color_is_respected():
    sink, clock = io.StringIO(), Clock()
    environment = {"TERM": "xterm-256color", "NO_COLOR": "1"}
    display = StageDisplay(Console(file=sink, force_terminal=True, width=60, _environ=environment), clock=clock)
    display.start_stage("scoring", 4).advance(2)
    clock.seconds += 3
    display.tick()
    assert "scoring ━━━━━━━━━━━━──────────── 2 of 4, 0:03 left" in sink.getvalue()


def test_a_stage_is_shown_below_the_line_of_training():
    sink = io.StringIO()
    display = ProgressDisplay()
    display.stages._clock = clock = Clock()
    display._live.console = Console(file=sink, force_terminal=True, width=100, color_system=None, _environ={})
    with display._live:
        display._line = "step 7"
        display.stages.start_stage("scoring", 4).advance(1)
        clock.seconds += 1
        display._live.refresh()
    shown = sink.getvalue()
    assert "step 7" in shown and "  scoring ━━━━━━────────────────── 1 of 4, 0:03 left" in shown


def test_a_stage_is_shown_below_the_table_of_a_study():
    sink, display = io.StringIO(), StudyDisplay(StudyFolder(Path("s")))
    display.console = Console(file=sink, force_terminal=True, width=100, color_system=None, _environ={})
    display._live.console = display.console
    display.stages._clock = clock = Clock()
    with display:
        display.handle(StudyStarted("mine", "bleu", "BLEU", (TrialResult(1, "set 1", "waiting", {"model.layers": 2}),)))
        display.stages.start_stage("encoding train", 4).advance(1)
        clock.seconds += 1
        display.redraw()
    assert "  encoding train ━━━━━━────────────────── 1 of 4, 0:03 left" in sink.getvalue()


@pytest.mark.parametrize("make", [ProgressDisplay, lambda: StudyDisplay(StudyFolder(Path("s")))])
def test_a_display_ends_the_stages_of_what_failed_inside_it(make):
    def work():
        with stage("scoring", 4):
            yield

    stream, display = work(), make()
    with pytest.raises(KeyError), display, report_progress_to(display.stages):
        next(stream)
        ticker_end = display.stages._ticker_end
        assert not ticker_end.is_set()
        raise KeyError
    assert ticker_end.is_set() and display.stages._stages == []


@pytest.mark.parametrize("make", [ProgressDisplay, lambda: StudyDisplay(StudyFolder(Path("s")))])
def test_standard_output_is_left_alone(make):
    display = make()
    display.console = Console(file=io.StringIO(), force_terminal=True, _environ={})
    display._live.console = display.console
    before = sys.stdout
    with display:
        assert display._live.is_started and sys.stdout is before


def test_the_ticker_prints_while_the_work_is_one_opaque_call(monkeypatch):
    monkeypatch.setattr(stages, "REFRESH_SECONDS", 0.001)
    monkeypatch.setattr(stages, "FIRST_LINE_SECONDS", 0.0)
    printed = io.StringIO()
    display = StageDisplay(Console(file=printed, force_terminal=False))
    with report_progress_to(display), stage("training the tokenizer"):
        while not printed.getvalue():
            pass
    assert printed.getvalue() == "training the tokenizer: 0:00\n"


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)


def test_rich_is_imported_by_the_first_stage_and_not_before():
    code = (
        "import sys\nfrom regard.display.stages import show_stages\nfrom regard.progress import stage\n"
        "with show_stages():\n print('rich' in sys.modules)\n with stage('scoring'):\n  print('rich' in sys.modules)\n"
    )
    result = run_python(code)
    assert result.stdout.split() == ["False", "False"] and result.stderr == ""


def test_of_several_processes_the_main_one_shows_stages():
    code = (
        "import time\nfrom regard.display import stages\nfrom regard.progress import stage\n"
        "stages.FIRST_LINE_SECONDS = 0.0\nstages.REFRESH_SECONDS = 0.01\n"
        "with stages.show_stages(), stage('scoring'):\n time.sleep(1)\n"
    )
    assert run_python(code, RANK="0").stderr == "scoring: 0:00\n"
    assert run_python(code, RANK="1").stderr == ""
