"""What a call does to the terminal: show progress, and stop at Ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def showing(progress: bool) -> AbstractContextManager[object]:
    """Show the stages of the work inside the block on standard error, or nothing."""
    if not progress:
        return contextlib.nullcontext()
    from regard.display.stages import show_stages

    return show_stages()


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """A function that tells whether Ctrl-C was pressed inside the block.

    The first Ctrl-C makes training save and stop, the second one aborts. After the block signals do what they did
    before. Signals reach the main thread only: in another thread nothing is installed, and the answer is always no.
    """
    signals: list[int] = []

    def request_stop(number: int, frame: object) -> None:
        if signals:
            raise KeyboardInterrupt
        signals.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous_handlers = {number: signal.signal(number, request_stop) for number in STOP_SIGNALS}
    try:
        yield lambda: bool(signals)
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
