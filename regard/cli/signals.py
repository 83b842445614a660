"""Signals that end the program: it leaves in order, so that the terminal has its cursor and no file is half written."""

import contextlib
import signal
import threading
from collections.abc import Iterator

END_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


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
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)
