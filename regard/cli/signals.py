"""Signals that end the program: it leaves in order, so that the terminal has its cursor and no file is half written."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
REPEAT_SECONDS = 0.05


@contextlib.contextmanager
def exit_on_signals() -> Iterator[None]:
    """Exit with the code 128 + number when a signal to end arrives inside the block; a second one ends at once.

    A signal that is ignored (as by nohup) or handled already stays so. Training handles SIGTERM itself meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in END_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _exit)
    previous_hook, sys.unraisablehook = sys.unraisablehook, _repeat_swallowed_signal
    try:
        yield
    finally:
        sys.unraisablehook = previous_hook
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def _repeat_swallowed_signal(unraisable: "UnraisableHookArgs") -> None:
    """Send a signal once more that came inside a finalizer or another callback: Python ignores what these raise."""
    error = unraisable.exc_value
    if isinstance(error, KeyboardInterrupt):
        number = int(signal.SIGINT)
    elif isinstance(error, SystemExit) and isinstance(error.code, int) and error.code - 128 in END_SIGNALS:
        number = error.code - 128
    else:
        sys.__unraisablehook__(unraisable)
        return
    if signal.getsignal(number) is signal.SIG_DFL:
        signal.signal(number, _exit)
    threading.Timer(REPEAT_SECONDS, os.kill, (os.getpid(), number)).start()  # after the callback has ended
