"""A study as it runs: a live table in a terminal, a line for every event of weight in a file."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from regard.cli.progress import clock
from regard.jobs.train import events as inner
from regard.tuning import events
from regard.tuning.folder import StudyFolder
from regard.tuning.results import TrialProgress, TrialResult
from regard.tuning.study import METRIC_NAMES, format_params, format_value

REFRESH_SECONDS = 0.5
OTHERS_SECONDS = 3.0  # between two looks at what other workers do
NARROW = 16  # columns in which a setting and its value can be read
ROWS = 24  # of a table that still fits a screen; what is done and weak gives way first


Peek = Callable[[], Sequence[TrialResult]]


def show_study(happenings: Iterable[events.StudyEvent], place: StudyFolder, peek: Peek) -> bool:
    """Show a study until it ends, the trials of other workers as `peek` finds them; whether it came to its end."""
    last: events.StudyEvent | None = None
    with StudyDisplay(place) as display, watched(display, peek):
        for last in happenings:
            display.show(last)
    return isinstance(last, events.StudyFinished)


@contextlib.contextmanager
def watched(display: "StudyDisplay", peek: Peek, seconds: float = OTHERS_SECONDS) -> Iterator[None]:
    """Look after other workers every few seconds, also while our own trial is silent: scoring dev takes minutes."""
    end = threading.Event()

    def look() -> None:
        while not end.wait(seconds):
            with contextlib.suppress(Exception):  # a table that is a moment old is no reason to end a training
                display.show_others(peek())

    thread = threading.Thread(target=look, daemon=True)
    if display.console.is_terminal:
        thread.start()
    try:
        yield
    finally:
        end.set()
        if thread.is_alive():
            thread.join()


@dataclass
class Row:
    """A line of the live table."""

    number: int
    name: str
    settings: str
    state: str
    now: TrialProgress = field(default_factory=TrialProgress)
    score: str = ""

    def cells(self) -> tuple[str, ...]:
        now = self.now
        left = clock(now.seconds_left) if self.state == "running" and now.seconds_left is not None else ""
        step, loss = f"{now.step:,}" if now.step else "", f"{now.loss:.3f}" if now.loss is not None else ""
        bleu = f"{now.bleu:.1f}" if now.bleu is not None else ""
        return str(self.number), self.name, self.settings, self.state, step, loss, bleu, left, self.score


class StudyDisplay:
    """A live table where there is a terminal, plain lines where there is none."""

    def __init__(self, place: StudyFolder) -> None:
        self.place = place
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.rows: dict[int, Row] = {}
        self.metric = "loss"
        self._drawn = 0.0
        self._idle = False
        self._ours: int | None = None  # the trial that we train, of which events tell more than the storage
        self._failed: set[int] = set()
        self._lock = threading.Lock()
        self._live = Live(console=self.console, auto_refresh=False, transient=True)

    def __enter__(self) -> "StudyDisplay":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def say(self, text: str) -> None:
        self.console.print(text, markup=False)

    def show(self, event: events.StudyEvent) -> None:
        """Show what happened here."""
        with self._lock:
            self.take(event)

    def show_others(self, results: Sequence[TrialResult]) -> None:
        """Show what the storage says of all trials but our own."""
        with self._lock:
            for result in results:
                if result.number != self._ours:
                    self._put(result)
            self._draw(force=True)

    @singledispatchmethod
    def take(self, event: object) -> None:
        """Show what happened."""

    @take.register
    def _(self, event: events.StudyStarted) -> None:
        self.metric = event.metric
        for result in event.trials:
            self._put(result)
        done = sum(result.state in ("complete", "stopped", "failed") for result in event.trials)
        self.say(f"study {event.name}: {len(event.trials)} trials, {done} of them done; {self.place.path}")
        self._draw(force=True)

    @take.register
    def _(self, event: events.TrialStarted) -> None:
        self._ours = event.number
        self.rows[event.number] = Row(event.number, event.name, format_params(event.params), "running")
        how = "goes on" if event.resumed else "begins"
        self._tell(f"  trial {event.number} ({event.name}) {how}: {format_params(event.params)}")
        self._draw(force=True)

    @take.register
    def _(self, event: events.TrialEvent) -> None:
        row, happened = self.rows[event.number], event.event
        row.now = row.now.with_event(happened)
        if isinstance(happened, inner.ValidationFinished):
            check = happened.result
            score = f"  BLEU {check.bleu.value:.1f} (greedy)" if check.bleu else ""
            self._tell(f"    trial {event.number}, step {check.step:,}: dev loss {check.loss:.3f}{score}")
        elif isinstance(happened, inner.Alarm):
            self.say(f"    trial {event.number}: ALARM: {happened.text}")
        self._draw()

    @take.register
    def _(self, event: events.TrialFinished) -> None:
        self._ours = None
        self._put(event.result)
        if event.result.state != "failed":
            self._tell(f"  trial {event.result.number} ({event.result.name}): {self._outcome(event.result)}")
        self._draw(force=True)

    @take.register
    def _(self, event: events.WorkerIdle) -> None:
        if not self._idle:
            self._idle = True
            self.say(f"  nothing is free: {event.running_trials} trials are with other workers; waiting for them")

    @take.register
    def _(self, event: events.TrialInterrupted) -> None:
        self.say(f"  trial {event.number} is saved. Go on with: regard tune {self.place.path}")

    @take.register
    def _(self, event: events.StudyFinished) -> None:
        for result in event.trials:
            self._put(result)
        self.console.print(self._table(len(self.rows)))

    def _tell(self, text: str) -> None:
        if not self.console.is_terminal:  # where there is one, the table says it
            self.say(text)

    def _outcome(self, result: TrialResult) -> str:
        score = "" if result.value is None else f"dev {METRIC_NAMES[self.metric]} {result.value:.3f}"
        if result.collapse_reason:
            return f"collapsed: {result.collapse_reason}"
        return f"{'stopped early, ' if result.state == 'stopped' else ''}{score}"

    def _put(self, result: TrialResult) -> None:
        """A line of the table; why a trial failed is said above it, once, whoever trained it."""
        if result.state == "failed" and result.number not in self._failed:
            self._failed.add(result.number)
            self.say(f"  trial {result.number} ({result.name}): failed: {result.reason}")
        state, one = "collapsed" if result.collapse_reason else result.state, result.first_summary
        now = TrialProgress(one.steps, loss=one.loss, bleu=one.value("bleu")) if one is not None else result.progress
        score = format_value(result.value) if result.value is not None else ""
        self.rows[result.number] = Row(result.number, result.name, format_params(result.params), state, now, score)

    def _draw(self, force: bool = False) -> None:
        if self.console.is_terminal and (force or time.monotonic() - self._drawn > REFRESH_SECONDS):
            self._drawn = time.monotonic()
            self._live.update(self._table(ROWS), refresh=True)

    def _table(self, most: int) -> Table:
        """Those at work first in sight; of the others as many as fit, in order."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("trial", "name", "settings", "state", "step", "dev loss", "BLEU", "left"):
            right = name in ("trial", "step", "dev loss", "BLEU", "left")
            wrapped: dict[str, Any] = (
                {"min_width": NARROW, "overflow": "fold"} if name == "settings" else {"no_wrap": True}
            )
            table.add_column(name, justify="right" if right else "left", **wrapped)
        table.add_column(f"score ({METRIC_NAMES[self.metric]})", justify="right")
        order = {"running": 0, "interrupted": 1, "complete": 1, "stopped": 2, "collapsed": 2, "failed": 2, "waiting": 3}
        chosen = sorted(self.rows.values(), key=lambda row: order[row.state])[:most]
        for row in sorted(chosen, key=lambda row: row.number):
            table.add_row(*row.cells(), style="bold" if row.state == "running" else None)
        return table
