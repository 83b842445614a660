"""Events of a long job on standard error: one live line in a terminal, a line every ten seconds elsewhere."""

import time
from collections.abc import Iterable
from functools import singledispatchmethod

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from regard.display.console import is_verbose, make_console, terminal_width
from regard.display.layout import bind, join_fields, wrap
from regard.display.stages import StageDisplay, format_duration
from regard.display.views.plan import format_plan
from regard.display.views.training import format_interruption, format_training
from regard.jobs.train import events
from regard.progress import report_progress_to

PRINT_INTERVAL_SECONDS = 10.0
REFRESH_SECONDS = 0.25
INDENT = "  "


def show_progress(event_stream: Iterable[object]) -> object:
    """Show events as they arrive. Returns the last one, which may be a result for the caller to print."""
    last = None
    with ProgressDisplay() as display, report_progress_to(display.stages):
        for last in event_stream:
            display.handle(last)
    return last


class ProgressDisplay:
    """A live line in a terminal, and below it the stage that is running; plain lines elsewhere."""

    def __init__(self) -> None:
        self.console = make_console()
        # What goes to standard output is data: it must not be redirected to standard error.
        self._live = Live(self, console=self.console, auto_refresh=False, transient=True, redirect_stdout=False)
        self.stages = StageDisplay(self.console, self._live.refresh, indent=INDENT)
        self._line = ""
        self._last_print = 0.0
        self._last_step: int | None = None
        self._unit = "token"

    def __enter__(self) -> "ProgressDisplay":
        if self.console.is_interactive:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stages.end_stages()
        if self.console.is_interactive:
            self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._line:
            yield Text(self._line, no_wrap=True, overflow="crop")
        yield self.stages

    def print_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.console.print(line, markup=False)

    @singledispatchmethod
    def handle(self, event: object) -> None:
        """Show an event; objects of other types are ignored."""

    @handle.register
    def _(self, event: events.Note) -> None:
        self.print_lines(wrap(event.text, terminal_width(), INDENT, INDENT * 2))

    @handle.register
    def _(self, event: events.Alarm) -> None:
        self.print_lines(wrap(f"ALARM: {event.text}", terminal_width(), INDENT, INDENT * 2))

    @handle.register
    def _(self, event: events.TrainingPlan) -> None:
        self.print_lines(format_plan(event, terminal_width(), is_verbose()))

    @handle.register
    def _(self, event: events.TrainingStarted) -> None:
        begin = f"continues at step {event.step:,}" if event.step else "starts"
        self._last_step, self._unit = event.last_step, event.unit
        self.print_lines(wrap(f"Training {begin}. Ctrl-C saves and stops.", terminal_width()))

    @handle.register
    def _(self, event: events.TrainingProgress) -> None:
        self._line = INDENT + format_progress(event, self._last_step, terminal_width() - len(INDENT), self._unit)
        is_live = self.console.is_interactive
        if time.monotonic() - self._last_print >= (REFRESH_SECONDS if is_live else PRINT_INTERVAL_SECONDS):
            self._last_print = time.monotonic()
            if is_live:
                self._live.refresh()
            else:
                self.print_lines([self._line])

    @handle.register
    def _(self, event: events.ValidationFinished) -> None:
        result = event.result
        numbers = [f"loss {result.loss:.3f}"]
        if result.score is None or result.score.name != "accuracy":  # which would be printed twice
            numbers.append(f"accuracy {result.accuracy:.1%}")
        numbers += [f"{result.score.name} {result.score.value:.{result.score.digits}f}"] if result.score else []
        best = f" {bind('(best so far)')}" if event.is_best else ""
        text = f"validation at step {result.step:,}: {', '.join(map(bind, numbers))}{best}"
        self.print_lines(wrap(text, terminal_width(), INDENT, INDENT * 2))

    @handle.register
    def _(self, event: events.TrainingInterrupted) -> None:
        self._line = ""
        self.print_lines(format_interruption(event, terminal_width()))

    @handle.register
    def _(self, event: events.TrainingFinished) -> None:
        self._line = ""
        self.print_lines(["", *format_training(event, terminal_width(), is_verbose())])


def format_progress(event: events.TrainingProgress, last_step: int | None, width: int, unit: str = "token") -> str:
    """A step in one line; a narrow one leaves out speed, then accuracy, then loss."""
    step = event.step
    total = f"/{last_step:,}" if last_step else ""
    return join_fields(
        [
            f"step {step.number:,}{total}",
            f"{format_duration(event.seconds_left)} left",
            f"loss {step.loss:.3f}",
            f"accuracy {step.accuracy:.1%}",
            f"{step.tokens / step.seconds:,.0f} {unit.split()[-1]}s/s",
        ],
        width,
    )
