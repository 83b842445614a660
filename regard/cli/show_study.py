"""A study as it runs: a live table in a terminal, a line for every event of weight in a file."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import singledispatchmethod

from rich.console import Console
from rich.live import Live
from rich.table import Table

from regard.cli.show import clock
from regard.jobs import events as inner
from regard.tune import events
from regard.tune.folder import StudyFolder
from regard.tune.results import Result
from regard.tune.study import METRIC_NAMES, told, written

REFRESH_SECONDS = 0.5
ROWS = 24  # of a table that still fits a screen; what is done and weak gives way first


def show_study(happenings: Iterable[events.Happening], place: StudyFolder) -> bool:
    """Show a study until it ends; whether it came to its end."""
    last: events.Happening | None = None
    with StudyDisplay(place) as display:
        for last in happenings:
            display.take(last)
    return isinstance(last, events.Done)


@dataclass
class Row:
    """A line of the live table."""

    number: int
    name: str
    settings: str
    state: str = "waiting"
    step: str = ""
    loss: str = ""
    bleu: str = ""
    left: str = ""
    score: str = ""


class StudyDisplay:
    """A live table where there is a terminal, plain lines where there is none."""

    def __init__(self, place: StudyFolder) -> None:
        self.place = place
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.rows: dict[int, Row] = {}
        self.metric = "loss"
        self._drawn = 0.0
        self._idle = False
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

    @singledispatchmethod
    def take(self, event: object) -> None:
        """Show what happened."""

    @take.register
    def _(self, event: events.Planned) -> None:
        self.metric = event.metric
        for result in event.trials:
            self._put(result)
        done = sum(result.state in ("complete", "stopped", "failed") for result in event.trials)
        self.say(f"study {event.name}: {len(event.trials)} trials, {done} of them done; {self.place.folder}")
        self._draw(force=True)

    @take.register
    def _(self, event: events.Began) -> None:
        self.rows[event.number] = Row(event.number, event.name, told(event.point), "running")
        how = "goes on" if event.again else "begins"
        self._tell(f"  trial {event.number} ({event.name}) {how}: {told(event.point)}")
        self._draw(force=True)

    @take.register
    def _(self, event: events.Went) -> None:
        row, happened = self.rows[event.number], event.event
        if isinstance(happened, inner.Progress):
            row.step, row.left = f"{happened.step.number:,}", clock(happened.seconds_left)
        elif isinstance(happened, inner.Checked):
            row.loss = f"{happened.check.loss:.3f}"
            row.bleu = f"{happened.check.bleu.value:.1f}" if happened.check.bleu else ""
            self._tell(f"    trial {event.number}, step {happened.check.step:,}: dev loss {row.loss}{self._bleu(row)}")
        elif isinstance(happened, inner.Alarm):
            self.say(f"    trial {event.number}: ALARM: {happened.text}")
        self._draw()

    @take.register
    def _(self, event: events.Ended) -> None:
        self._put(event.result)
        self._tell(f"  trial {event.result.number} ({event.result.name}): {self._outcome(event.result)}")
        self._draw(force=True)

    @take.register
    def _(self, event: events.Idle) -> None:
        if not self._idle:
            self._idle = True
            self.say(f"  nothing is free: {event.trials} trials are with other workers; waiting for them")

    @take.register
    def _(self, event: events.Stopped) -> None:
        self.say(f"  trial {event.number} is saved. Go on with: regard tune {self.place.folder}")

    @take.register
    def _(self, event: events.Done) -> None:
        for result in event.trials:
            self._put(result)
        self.console.print(self._table(len(self.rows)))

    def _bleu(self, row: Row) -> str:
        return f"  BLEU {row.bleu} (greedy)" if row.bleu else ""

    def _tell(self, text: str) -> None:
        if not self.console.is_terminal:  # where there is one, the table says it
            self.say(text)

    def _outcome(self, result: Result) -> str:
        if result.state == "failed":
            return f"failed: {result.reason}"
        score = "" if result.value is None else f"dev {METRIC_NAMES[self.metric]} {result.value:.3f}"
        if result.collapsed:
            return f"collapsed: {result.collapsed}"
        return f"{'stopped early, ' if result.state == 'stopped' else ''}{score}"

    def _put(self, result: Result) -> None:
        row = Row(result.number, result.name, told(result.point), "collapsed" if result.collapsed else result.state)
        if result.first is not None:
            row.step = f"{result.first.steps:,}"
            row.loss = f"{result.first.loss:.3f}" if result.first.loss is not None else ""
            bleu = result.first.value("bleu")
            row.bleu = f"{bleu:.1f}" if bleu is not None else ""
        row.score = written(result.value) if result.value is not None else ""
        self.rows[result.number] = row

    def _draw(self, force: bool = False) -> None:
        if self.console.is_terminal and (force or time.monotonic() - self._drawn > REFRESH_SECONDS):
            self._drawn = time.monotonic()
            self._live.update(self._table(ROWS), refresh=True)

    def _table(self, most: int) -> Table:
        """Those at work first in sight; of the others as many as fit, in order."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("trial", "name", "settings", "state", "step", "dev loss", "BLEU", "left"):
            right = name in ("trial", "step", "dev loss", "BLEU", "left")
            table.add_column(name, justify="right" if right else "left", no_wrap=name != "settings")
        table.add_column(f"score ({METRIC_NAMES[self.metric]})", justify="right")
        order = {"running": 0, "complete": 1, "stopped": 2, "collapsed": 2, "failed": 2, "waiting": 3}
        chosen = sorted(self.rows.values(), key=lambda row: order[row.state])[:most]
        for row in sorted(chosen, key=lambda row: row.number):
            cells = (row.name, row.settings, row.state, row.step, row.loss, row.bleu, row.left, row.score)
            table.add_row(str(row.number), *cells, style="bold" if row.state == "running" else None)
        return table
