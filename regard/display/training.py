"""Events of a long job on standard error: a progress bar in a terminal, a line every ten seconds elsewhere."""

import time
from collections.abc import Iterable
from functools import singledispatchmethod

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from regard.display.stages import StageDisplay, format_duration
from regard.jobs.train import events
from regard.progress import report_progress_to

PRINT_INTERVAL_SECONDS = 10.0


def show_progress(event_stream: Iterable[object]) -> object:
    """Show events as they arrive. Returns the last one, which may be a result for the caller to print."""
    last = None
    with ProgressDisplay() as display, report_progress_to(display.stages):
        for last in event_stream:
            display.handle(last)
    return last


class TrainingBar(Progress):
    """The progress of training, and below it the stage that is running: the scoring at the end, for instance."""

    stages: StageDisplay

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if hasattr(self, "stages"):  # not yet while the parent class is initialized
            yield self.stages


class ProgressDisplay:
    """A progress bar in a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = TrainingBar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[numbers]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_interactive,
        )
        self.stages = self._bar.stages = StageDisplay(self.console, self._bar.refresh, indent="  ")
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
        """Show an event; objects of other types are ignored."""

    @handle.register
    def _(self, event: events.Note) -> None:
        self.print_line(f"  {event.text}")

    @handle.register
    def _(self, event: events.Alarm) -> None:
        self.print_line(f"  ALARM: {event.text}")

    @handle.register
    def _(self, event: events.TrainingStarted) -> None:
        begin = f"continues at step {event.step:,}" if event.step else "starts"
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
        if self._task is not None and self.console.is_interactive:
            self._bar.update(self._task, completed=min(event.fraction, 1.0), numbers=numbers)
        elif time.monotonic() - self._last_print >= PRINT_INTERVAL_SECONDS:
            self._last_print = time.monotonic()
            self.print_line("  " + numbers)

    @handle.register
    def _(self, event: events.ValidationFinished) -> None:
        result = event.result
        bleu = f"  BLEU {result.bleu.value:.1f} (greedy)" if result.bleu else ""
        star = "  * best so far" if event.is_best else ""
        self.print_line(
            f"  validation at step {result.step:,}: loss {result.loss:.3f}  accuracy {result.accuracy:.1%}{bleu}{star}"
        )

    @handle.register
    def _(self, event: events.TrainingInterrupted) -> None:
        folder = event.run.folder
        self.print_line(f"  saved at step {event.step:,}. Continue with: regard train --resume {folder}")

    @handle.register
    def _(self, event: events.TrainingFinished) -> None:
        folder = event.run.folder
        for score in event.evaluation.scores.values():
            self.print_line(f"  {event.set_name}: {score}")
        self.print_line(f"  report: {event.run.report}")
        self.print_line(f"  translate with: regard translate {folder} < text")
