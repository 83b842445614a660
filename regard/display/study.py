"""Display of a running study: a live table in a terminal, one line per important event otherwise."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod

from rich.console import Group
from rich.live import Live
from rich.text import Text

from regard.display.console import MAX_WIDTH, MIN_WIDTH, make_console
from regard.display.layout import Column, format_table, wrap
from regard.display.stages import StageDisplay, format_duration
from regard.jobs.train import events as inner
from regard.metrics.score import digits_of
from regard.progress import report_progress_to
from regard.tuning import events
from regard.tuning.folder import StudyFolder
from regard.tuning.results import FINISHED_STATES, TrialProgress, TrialResult
from regard.tuning.study import format_params

REFRESH_SECONDS = 0.5
POLL_SECONDS = 3.0  # between two reads of the progress of other workers
MAX_ROWS = 24  # of a table that fits a screen; finished and weak trials are dropped first
COLUMNS = (
    Column("trial", right=True),
    Column("name", wraps=True),
    Column("settings", wraps=True, below=True),
    Column("state", wraps=True),
    Column("step", right=True),
    Column("dev loss", right=True),
)

ResultsFetcher = Callable[[], Sequence[TrialResult]]


def show_study(
    event_stream: Iterable[events.StudyEvent], study_folder: StudyFolder, fetch_results: ResultsFetcher
) -> bool:
    """Display a study until it ends, with the trials of other workers; whether all trials have ended."""
    last: events.StudyEvent | None = None
    with (
        StudyDisplay(study_folder) as display,
        report_progress_to(display.stages),
        poll_workers(display, fetch_results),
    ):
        for last in event_stream:
            display.show(last)
    return isinstance(last, events.StudyFinished)


@contextlib.contextmanager
def poll_workers(
    display: "StudyDisplay", fetch_results: ResultsFetcher, interval: float = POLL_SECONDS
) -> Iterator[None]:
    """Refresh the trials of other workers every few seconds, even while this worker has no events."""
    stop = threading.Event()

    def poll() -> None:
        while not stop.wait(interval):
            with contextlib.suppress(Exception):  # the table stays as it was; training goes on
                display.show_other_workers(fetch_results())

    thread = threading.Thread(target=poll, daemon=True)
    if display.console.is_interactive:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if thread.is_alive():
            thread.join()


@dataclass
class TrialRow:
    """A row of the live table."""

    number: int
    name: str
    settings: str
    state: str
    progress: TrialProgress = field(default_factory=TrialProgress)
    score: str = ""

    def cells(self, has_scores: bool, digits: int) -> tuple[str, ...]:
        """The cells of the row; `has_scores` if predictions are scored in validations, with these decimal places."""
        progress = self.progress
        remaining = (
            format_duration(progress.seconds_left)
            if self.state == "running" and progress.seconds_left is not None
            else ""
        )
        step, loss = (
            f"{progress.step:,}" if progress.step else "",
            f"{progress.loss:.3f}" if progress.loss is not None else "",
        )
        validation = f"{progress.score:.{digits}f}" if progress.score is not None else ""
        scores = (validation,) if has_scores else ()
        return str(self.number), self.name, self.settings, self.state, step, loss, *scores, remaining, self.score


class StudyDisplay:
    """A live table in a terminal, plain lines elsewhere."""

    def __init__(self, study_folder: StudyFolder) -> None:
        self.study_folder = study_folder
        self.console = make_console()
        self.rows: dict[int, TrialRow] = {}
        self.metric = "loss"
        self.score = ""
        self.digits = 2
        self._last_draw = 0.0
        self._idle = False
        self._own_trial: int | None = None  # the trial of this worker: its events are newer than the storage
        self._reported_failures: set[int] = set()
        self._lock = threading.Lock()
        self.stages = StageDisplay(self.console, self.redraw, indent="  ")
        # What goes to standard output is data: it must not be redirected to standard error.
        self._live = Live(console=self.console, auto_refresh=False, transient=True, redirect_stdout=False)

    def __enter__(self) -> "StudyDisplay":
        if self.console.is_interactive:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stages.end_stages()
        if self.console.is_interactive:
            self._live.stop()

    @property
    def width(self) -> int:
        """Columns for text."""
        return min(max(self.console.width, MIN_WIDTH), MAX_WIDTH)

    def print_line(self, text: str) -> None:
        indent = text[: len(text) - len(text.lstrip())]
        for line in wrap(text, self.width, indent, indent + "  "):
            self.console.print(line, markup=False)

    def show(self, event: events.StudyEvent) -> None:
        """Display an event of this worker."""
        with self._lock:
            self.handle(event)

    def show_other_workers(self, results: Sequence[TrialResult]) -> None:
        """Display all trials but that of this worker, as read from the storage."""
        with self._lock:
            for result in results:
                if result.number != self._own_trial:
                    self._update_row(result)
            self._draw(force=True)

    def redraw(self) -> None:
        """Draw the table again, with the stage that is running below it."""
        with self._lock:
            self._draw(force=True)

    @singledispatchmethod
    def handle(self, event: object) -> None:
        """Display an event."""

    @handle.register
    def _(self, event: events.StudyStarted) -> None:
        self.metric, self.score, self.digits = event.metric, event.score, event.digits
        for result in event.trials:
            self._update_row(result)
        finished = sum(result.state in FINISHED_STATES for result in event.trials)
        self.print_line(
            f"study {event.name}: {len(event.trials)} trials, {finished} finished; {self.study_folder.path}"
        )
        self._draw(force=True)

    @handle.register
    def _(self, event: events.TrialStarted) -> None:
        self._own_trial = event.number
        self.rows[event.number] = TrialRow(event.number, event.name, format_params(event.params), "running")
        verb = "resumes" if event.resumed else "starts"
        self._print_if_plain(f"  trial {event.number} ({event.name}) {verb}: {format_params(event.params)}")
        self._draw(force=True)

    @handle.register
    def _(self, event: events.TrialEvent) -> None:
        row, training_event = self.rows[event.number], event.event
        row.progress = row.progress.with_event(training_event)
        if isinstance(training_event, inner.ValidationFinished):
            validation = training_event.result
            scored = validation.score
            score = f", {scored.name} {scored.value:.{scored.digits}f}" if scored else ""
            self._print_if_plain(
                f"    trial {event.number}, step {validation.step:,}: dev loss {validation.loss:.3f}{score}"
            )
        elif isinstance(training_event, inner.Alarm):
            self.print_line(f"    trial {event.number}: ALARM: {training_event.text}")
        self._draw()

    @handle.register
    def _(self, event: events.TrialFinished) -> None:
        self._own_trial = None
        self._update_row(event.result)
        if event.result.state != "failed":
            self._print_if_plain(f"  trial {event.result.number} ({event.result.name}): {self._outcome(event.result)}")
        self._draw(force=True)

    @handle.register
    def _(self, event: events.WorkerIdle) -> None:
        if not self._idle:
            self._idle = True
            self.print_line(
                f"  no trial is free: {event.running_trials} are running on other workers; waiting for them"
            )

    @handle.register
    def _(self, event: events.TrialInterrupted) -> None:
        self.print_line(f"  trial {event.number} is saved. Resume with: regard tune {self.study_folder.path}")

    @handle.register
    def _(self, event: events.StudyFinished) -> None:
        for result in event.trials:
            self._update_row(result)
        self.console.print(self._table(len(self.rows)))

    def _print_if_plain(self, text: str) -> None:
        if not self.console.is_interactive:  # a terminal shows the table instead
            self.print_line(text)

    def _outcome(self, result: TrialResult) -> str:
        score = "" if result.value is None else f"dev {self.metric} {result.value:.{self.digits}f}"
        if result.collapse_reason:
            return f"{result.diagnosis}: {result.collapse_reason}"
        return f"{'pruned, ' if result.state == 'pruned' else ''}{score}"

    def _update_row(self, result: TrialResult) -> None:
        """Update a row of the table; the reason of a failure is printed once, above it."""
        if result.state == "failed" and result.number not in self._reported_failures:
            self._reported_failures.add(result.number)
            self.print_line(f"  trial {result.number} ({result.name}): failed: {result.reason}")
        state, summary = result.verdict, result.first_summary
        progress = (
            TrialProgress(summary.steps, loss=summary.loss, score=summary.find_score(self.score))
            if summary is not None
            else result.progress
        )
        self.metric = result.metric_name or self.metric
        score = f"{result.value:.{self.digits}f}" if result.value is not None else ""
        self.rows[result.number] = TrialRow(
            result.number, result.name, format_params(result.params), state, progress, score
        )

    def _draw(self, force: bool = False) -> None:
        if self.console.is_interactive and (force or time.monotonic() - self._last_draw > REFRESH_SECONDS):
            self._last_draw = time.monotonic()
            self._live.update(Group(self._table(MAX_ROWS), self.stages), refresh=True)

    def _table(self, max_rows: int) -> Text:
        """At most `max_rows` trials in order of their number; running ones are always among them."""
        order = {"running": 0, "interrupted": 1, "complete": 1, "waiting": 3}
        visible_rows = sorted(self.rows.values(), key=lambda row: order.get(row.state, 2))[:max_rows]
        in_order = sorted(visible_rows, key=lambda row: row.number)
        rows = [row.cells(bool(self.score), digits_of(self.score)) for row in in_order]
        scores = [Column(self.score, right=True)] if self.score else []
        last = [Column("left", right=True), Column(f"score ({self.metric})", right=True, wraps=True)]
        columns = [*COLUMNS, *scores, *last]
        return Text("\n".join(format_table(columns, rows, self.width)), no_wrap=True)
