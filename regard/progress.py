"""Progress of long work, reported to a listener: none by default, a terminal if the command line has set one.

    for example in track(examples, "measuring heads"):
        ...
    with stage("scoring", total=len(sentences)) as current:
        current.advance(32)

A function reports its stages and needs no argument for it. Where nothing listens, that costs nothing.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sized
from contextvars import ContextVar
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Stage(Protocol):
    """One stage of a job, for instance the scoring of a test set."""

    def advance(self, count: int = 1) -> None:
        """Some more units of the stage are done."""

    def finish(self) -> None:
        """The stage has ended, complete or not."""


class ProgressListener(Protocol):
    """Receives the stages of a job; stages may be nested."""

    def start_stage(self, description: str, total: int | None) -> Stage:
        """A stage begins, with this many units if that is known."""
        ...

    def show_note(self, text: str) -> None:
        """Something that the user should know, and that changes no result."""


class SilentStage:
    """A stage that is not shown."""

    def advance(self, count: int = 1) -> None:
        pass

    def finish(self) -> None:
        pass


class SilentListener:
    """Shows nothing."""

    def start_stage(self, description: str, total: int | None) -> Stage:
        return SilentStage()

    def show_note(self, text: str) -> None:
        pass


_SILENT = SilentListener()
_listener: ContextVar[ProgressListener] = ContextVar("progress_listener", default=_SILENT)


@contextlib.contextmanager
def report_progress_to(listener: ProgressListener) -> Iterator[None]:
    """Report the stages inside the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextlib.contextmanager
def stage(description: str, total: int | None = None) -> Iterator[Stage]:
    """A stage that ends with the block. `description` is a participle and its object: "measuring heads"."""
    current = _listener.get().start_stage(description, total)
    try:
        yield current
    finally:
        current.finish()


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """The items, each counted when the next one is asked for."""
    total = len(items) if total is None and isinstance(items, Sized) else total
    with stage(description, total) as current:
        for item in items:
            yield item
            current.advance()


def report_note(text: str) -> None:
    """Report something that the user should know, for instance why the work will take longer."""
    _listener.get().show_note(text)
