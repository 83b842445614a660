"""What a call does to the terminal: show progress, and stop at Ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager

STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def showing(progress: bool) -> AbstractContextManager[object]:
    """Show the stages of the work inside the block on standard error, or nothing."""
    if not progress:
        return contextlib.nullcontext()
    from regard.display.stages import show_stages

    return show_stages()


class StopRequest:
    """Whether a signal to end has arrived. It is called after every step: once it returns True, training saves."""

    def __init__(self) -> None:
        self.number: int | None = None
        """Of the signal; None as long as there was none."""
        self._polled = False

    def __call__(self) -> bool:
        self._polled = True
        return self.requested

    @property
    def requested(self) -> bool:
        return self.number is not None

    def handle_signal(self, number: int, frame: object) -> None:
        """Abort before the first step, when there is nothing to save, and at the second signal."""
        if self.requested or not self._polled:
            raise _stop_exception(number)
        self.number = number

    def exception(self, message: str = "") -> BaseException:
        """What ends the program in place of the signal, after everything was saved."""
        return _stop_exception(signal.SIGINT if self.number is None else self.number, message)


def _stop_exception(number: int, message: str = "") -> BaseException:
    """KeyboardInterrupt for Ctrl-C; for another signal, an exit with the code that names it."""
    if number == signal.SIGINT:
        return KeyboardInterrupt(message) if message else KeyboardInterrupt()
    return SystemExit(128 + number)


@contextlib.contextmanager
def interruptible() -> Iterator[StopRequest]:
    """A request that Ctrl-C or another signal to end sets; after the block signals do what they did before.

    A signal that is ignored, as by nohup, stays so. Signals reach the main thread only: in another thread nothing is
    installed, and no stop is ever requested.
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    previous_handlers = {number: signal.signal(number, stop.handle_signal) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
