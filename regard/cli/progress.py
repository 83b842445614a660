"""Events of a long job, shown to people on stderr: a live line in a terminal, a line now and then in a file."""

import time
from collections.abc import Iterable
from functools import singledispatchmethod

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from regard.jobs.train import events

PRINT_INTERVAL_SECONDS = 10.0


def show_progress(event_stream: Iterable[object]) -> object:
    """Show events as they come; the last one, which may be a result that is its caller's to show."""
    last = None
    with ProgressDisplay() as display:
        for last in event_stream:
            display.handle(last)
    return last


class ProgressDisplay:
    """A progress bar where there is a terminal, plain lines where there is none."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[numbers]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task: TaskID | None = None
        self._last_print = 0.0
        self._total_steps = ""

    def __enter__(self) -> "ProgressDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def print_line(self, text: str) -> None:
        self.console.print(text, markup=False)

    @singledispatchmethod
    def handle(self, event: object) -> None:
        """Show an event; what is no event is not for here."""

    @handle.register
    def _(self, event: events.Note) -> None:
        self.print_line(f"  {event.text}")

    @handle.register
    def _(self, event: events.Alarm) -> None:
        self.print_line(f"  ALARM: {event.text}")

    @handle.register
    def _(self, event: events.TrainingStarted) -> None:
        begin = f"goes on at step {event.step:,}" if event.step else "starts"
        self._total_steps = f"/{event.last_step:,}" if event.last_step else ""
        self.print_line(f"  {event.parameters:,} parameters; training {begin}. Ctrl-C saves and stops.")
        self._task = self._bar.add_task("", total=1.0, numbers="")

    @handle.register
    def _(self, event: events.TrainingProgress) -> None:
        step = event.step
        numbers = (
            f"step {step.number:,}{self._total_steps}  loss {step.loss:.3f}  accuracy {step.accuracy:.1%}  "
            f"{step.tokens / step.seconds:,.0f} tokens/s  {format_duration(event.seconds_left)} left"
        )
        if self._task is not None and self.console.is_terminal:
            self._bar.update(self._task, completed=min(event.fraction, 1.0), numbers=numbers)
        elif time.monotonic() - self._last_print >= PRINT_INTERVAL_SECONDS:
            self._last_print = time.monotonic()
            self.print_line("  " + numbers)

    @handle.register
    def _(self, event: events.ValidationFinished) -> None:
        check = event.result
        bleu = f"  BLEU {check.bleu.value:.1f} (greedy)" if check.bleu else ""
        star = "  * best so far" if event.is_best else ""
        self.print_line(
            f"  dev at step {check.step:,}: loss {check.loss:.3f}  accuracy {check.accuracy:.1%}{bleu}{star}"
        )

    @handle.register
    def _(self, event: events.TrainingInterrupted) -> None:
        folder = event.run.folder
        self.print_line(f"  saved at step {event.step:,}. Go on with: regard train --resume {folder}")

    @handle.register
    def _(self, event: events.TrainingFinished) -> None:
        folder = event.run.folder
        for score in event.evaluation.scores.values():
            self.print_line(f"  {event.set_name}: {score}")
        self.print_line(f"  report: {event.run.report}")
        self.print_line(f"  translate with: regard translate {folder} < text")


def format_duration(seconds: float) -> str:
    """A duration as people read it."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
