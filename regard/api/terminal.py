"""What a call does to the terminal: show progress, and stop at Ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def showing(progress: bool) -> AbstractContextManager[object]:
    """Show the stages of the work inside the block on standard error, or nothing."""
    if not progress:
        return contextlib.nullcontext()
    from regard.display.stages import show_stages

    return show_stages()


class StopRequest:
    """Whether Ctrl-C was pressed. It is called after every step: once it returns True, training saves and stops."""

    def __init__(self) -> None:
        self.requested = False
        self._polled = False

    def __call__(self) -> bool:
        self._polled = True
        return self.requested

    def handle_signal(self, number: int, frame: object) -> None:
        """Abort before the first step, when there is nothing to save, and at the second signal."""
        if self.requested or not self._polled:
            raise KeyboardInterrupt
        self.requested = True


@contextlib.contextmanager
def interruptible() -> Iterator[StopRequest]:
    """A request that Ctrl-C inside the block sets; after the block signals do what they did before.

    Signals reach the main thread only: in another thread nothing is installed, and no stop is ever requested.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous_handlers = {number: signal.signal(number, stop.handle_signal) for number in STOP_SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
