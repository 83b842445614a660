"""Stages of long work on standard error: a live line in a terminal, a plain line now and then elsewhere.

A stage that ends soon is not shown at all. rich is imported when the first stage starts.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from regard.display.escape import escape
from regard.progress import SilentListener, Stage, report_progress_to

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.text import Text

LIVE_SECONDS = 0.5  # that a stage runs before a terminal shows it: a shorter one would flicker
FIRST_LINE_SECONDS = 2.0  # that a stage runs before its first plain line
LINE_INTERVAL_SECONDS = 10.0
REFRESH_SECONDS = 0.1
BAR_WIDTHS = (24, 10)
MIN_ESTIMATED_FRACTION = 0.05  # of a total: sentences of one batch are finished late, and then many at once


@contextlib.contextmanager
def show_stages() -> Iterator[None]:
    """Show the stages of all work inside the block; of processes that train together, the main one does."""
    if os.environ.get("RANK", "0") != "0":
        with report_progress_to(SilentListener()):
            yield
        return
    with StageDisplay() as display, report_progress_to(display):
        yield


class ActiveStage:
    """A stage that is running: what it does, how far it is, since when."""

    def __init__(
        self, description: str, total: int | None, start_time: float, on_finish: "Callable[[ActiveStage], None]"
    ):
        self.description, self.total, self.start_time, self.done = description, total, start_time, 0
        self._on_finish = on_finish

    def advance(self, count: int = 1) -> None:
        self.done += count

    def finish(self) -> None:
        self._on_finish(self)

    @property
    def fraction(self) -> float | None:
        return min(self.done / self.total, 1.0) if self.total else None

    def format_numbers(self, now: float) -> str:
        """The count with the time left, or with the speed where an estimate would be a guess; else the time so far."""
        elapsed = max(now - self.start_time, 1e-9)
        if not self.done and self.total is None:
            return format_duration(elapsed)
        count = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        if not self.done:
            return count
        if self.total is None or self.done < MIN_ESTIMATED_FRACTION * self.total:
            speed = self.done / elapsed
            return f"{count}, {speed:,.{0 if speed >= 10 else 1}f} per second"
        seconds_left = elapsed / self.done * max(self.total - self.done, 0)
        return f"{count}, {format_duration(seconds_left)} left"

    def format_as_outer(self) -> str:
        """The description and the number of the current item, to stand before a stage inside this one."""
        current = "" if self.total is None else f" ({min(self.done + 1, self.total):,} of {self.total:,})"
        return f"{self.description}{current}: "


class StageDisplay:
    """The listener that shows stages. It is itself what rich draws: the line of the stages that are running.

    Where another live display has the terminal, it contains this line, and `redraw` draws all of it.
    """

    def __init__(
        self,
        console: "Console | None" = None,
        redraw: Callable[[], None] | None = None,
        indent: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._redraw, self._indent, self._clock = console, redraw, indent, clock
        self._stages: list[ActiveStage] = []  # from the outermost to the innermost
        self._live: Live | None = None
        self._is_visible = False
        self._last_shown = float("-inf")  # when the live line was last erased
        self._next_line = 0.0
        self._ticker_end = threading.Event()
        self._lock = threading.RLock()

    @property
    def console(self) -> "Console":
        if self._console is None:
            from regard.display.console import make_console

            self._console = make_console()
        return self._console

    def __enter__(self) -> "StageDisplay":
        return self

    def __exit__(self, *_: object) -> None:
        self.end_stages()

    def end_stages(self) -> None:
        """End the stages that are running: those of generators that were never exhausted."""
        for stage in reversed(self._stages):
            stage.finish()

    def start_stage(self, description: str, total: int | None) -> Stage:
        with self._lock:
            stage = ActiveStage(escape(description), total, self._clock(), self._end_stage)
            self._stages.append(stage)
            if len(self._stages) == 1:
                self._next_line = stage.start_time + FIRST_LINE_SECONDS
                self._ticker_end = threading.Event()
                threading.Thread(target=self._tick_until, args=(self._ticker_end,), daemon=True).start()
        return stage

    def show_note(self, text: str) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):  # standard error is closed: the work goes on
            self.console.print(f"{self._indent}! {text}", markup=False, highlight=False)

    def _end_stage(self, stage: ActiveStage) -> None:
        with self._lock:
            if stage in self._stages:
                self._stages.remove(stage)
            if self._stages:
                return
            self._ticker_end.set()
            was_visible, self._is_visible = self._is_visible, False
            if not was_visible:
                return
            self._last_shown = self._clock()
            if self._live is not None:
                self._live.stop()  # erases the line
                self._live = None
        if self._redraw is not None:
            self._redraw()

    def _tick_until(self, end: threading.Event) -> None:
        while not end.wait(REFRESH_SECONDS):
            with contextlib.suppress(OSError, ValueError):  # standard error is closed: the work goes on
                self.tick()

    def tick(self) -> None:
        """Draw or print what is due."""
        with self._lock:
            now = self._clock()
            if not self.console.is_interactive:
                self._print_if_due(now)
                return
            if not self._visible_stages(now):
                return
            self._is_visible = True
            if self._redraw is None:
                self._draw()
        if self._redraw is not None:  # without the lock: the other display has one of its own
            self._redraw()

    def _print_if_due(self, now: float) -> None:
        if not self._stages or now < self._next_line:
            return
        self._next_line = now + LINE_INTERVAL_SECONDS
        width = _terminal_width(self.console) if self.console.is_terminal else None  # a file has no width
        self.console.print(
            self._indent + format_line(self._stages, now, width and width - len(self._indent)), markup=False
        )

    def _draw(self) -> None:
        if self._live is None:
            from rich.live import Live

            # What goes to standard output is data: it must not be redirected to standard error.
            self._live = Live(self, console=self.console, auto_refresh=False, transient=True, redirect_stdout=False)
            self._live.start()
        self._live.refresh()

    def _visible_stages(self, now: float) -> list[ActiveStage]:
        """Stages that have run for a moment, or that follow one that was visible."""
        return [
            stage
            for stage in list(self._stages)  # the work goes on in another thread
            if now - stage.start_time >= LIVE_SECONDS or stage.start_time - self._last_shown < LIVE_SECONDS
        ]

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        now = self._clock()
        if stages := self._visible_stages(now):
            yield render_line(stages, now, options.max_width, options.ascii_only, self._indent)


def format_line(stages: Sequence[ActiveStage], now: float, width: int | None) -> str:
    """The innermost stage after those around it: "comparing systems (1 of 2): scoring: 320 of 1,000, 0:12 left"."""
    *outer, inner = stages
    numbers, context = inner.format_numbers(now), "".join(stage.format_as_outer() for stage in outer)
    full = f"{context}{inner.description}: {numbers}"
    if width is None or len(full) <= width:
        return full
    return f"{shorten(inner.description, width - len(numbers) - 2)}: {numbers}"[: max(width, 0)]


def render_line(stages: Sequence[ActiveStage], now: float, width: int, ascii_only: bool, indent: str) -> "Text":
    """The same with a bar, where there is room for one; never wider than `width`."""
    from rich.text import Text

    *outer, inner = stages
    numbers, context = inner.format_numbers(now), "".join(stage.format_as_outer() for stage in outer)
    room = width - len(indent)
    if inner.fraction is not None:
        filled, rest = ("#", "-") if ascii_only else ("━", "─")
        for label in (context + inner.description, inner.description):
            for bar_width in BAR_WIDTHS:
                if len(label) + bar_width + len(numbers) + 2 <= room:
                    done = int(bar_width * inner.fraction)
                    bar = ((filled * done, "bar.complete"), (rest * (bar_width - done), "bar.back"))
                    return Text.assemble(indent, label, " ", *bar, " ", numbers, no_wrap=True)
    return Text(indent + format_line(stages, now, room), no_wrap=True, overflow="crop")


def _terminal_width(console: "Console") -> int:
    """The width of a terminal, also of a dumb one, whose size rich does not ask for."""
    with contextlib.suppress(OSError, ValueError):
        return os.get_terminal_size(console.file.fileno()).columns
    return console.width


def shorten(text: str, width: int) -> str:
    """The beginning of a text that is longer than `width` characters."""
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def format_duration(seconds: float) -> str:
    """A duration as h:mm:ss or m:ss."""
    if seconds == float("inf"):
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
