"""The standard streams, which a program may be started without."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import typer

from regard.errors import FormatError

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


def prompt_for_lines(unit: str) -> None:
    """Say what a terminal waits for."""
    if sys.stdin.isatty():
        typer.echo(f"Type one {unit} per line; Ctrl-D ends.", err=True)


def read_stdin_lines() -> Iterator[str]:
    """The lines of standard input, as they arrive."""
    return decode_lines(sys.stdin.buffer)


def decode_lines(raw: IO[bytes]) -> Iterator[str]:
    """The lines of a stream without their ends, as they arrive."""
    from regard.formats.text import decode_line

    for number, line in enumerate(_limit_lines(raw), start=1):
        yield decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), Path("standard input"), number)


def _limit_lines(raw: IO[bytes]) -> Iterator[bytes]:
    from regard.files import LineTooLongError, iter_lines

    try:
        yield from iter_lines(raw)
    except LineTooLongError as error:
        raise FormatError(f"standard input:{error.number}: {error}, which no sentence has") from None
