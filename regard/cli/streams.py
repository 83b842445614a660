"""The standard streams, which a program may be started without."""

import contextlib
import os
import sys

STREAMS = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))


def replace_closed_streams() -> None:
    """Open what is closed, as by `>&-`: otherwise the next file that is opened would be taken for standard output.

    Standard output is opened for reading, so that writing to it is an error and no result is lost silently.
    """
    for number, (name, mode, flags) in enumerate(STREAMS):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def check_stdout() -> bool:
    """Whether standard output can still be written to; otherwise nothing more is, nor what is buffered."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True
