"""Lines of text that a command reads, from files or from standard input, and where it writes."""

import contextlib
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import typer

from regard.errors import FormatError

LINE_ENDS = dict.fromkeys(map(ord, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")  # a result is one line


def read_input(file: Path | None) -> Iterator[str]:
    """The lines of a file, or of standard input."""
    from regard.formats import read_lines

    return read_lines(file, streams=True) if file is not None else decode_stdin(sys.stdin.buffer)


def read_inputs(files: Sequence[Path]) -> Iterator[str]:
    """The lines of several files in order; of standard input where there are none, or one is named -."""
    for file in files or [Path("-")]:
        yield from read_input(None if file == Path("-") else file)


def prompt_for_lines(unit: str, file: object = None) -> None:
    """Say what a terminal waits for, where no file is read."""
    if not file and sys.stdin.isatty():
        typer.echo(f"Type one {unit} per line; Ctrl-D ends.", err=True)


def decode_stdin(raw: IO[bytes]) -> Iterator[str]:
    """The lines of standard input, which must be UTF-8."""
    from regard.formats.text import decode_line

    for number, line in enumerate(_limit_lines(raw), start=1):
        yield decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), Path("standard input"), number)


@contextlib.contextmanager
def open_output(out: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that is replaced once it is complete, so that the input may be overwritten."""
    if out is None:
        with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False) as sink:
            yield sink
        return
    from regard.formats import files

    with files.create_binary(out) as file, io.TextIOWrapper(file, encoding="utf-8", newline="\n") as sink:
        yield sink


def _limit_lines(raw: IO[bytes]) -> Iterator[bytes]:
    from regard.files import LineTooLongError, iter_lines

    try:
        yield from iter_lines(raw)
    except LineTooLongError as error:
        raise FormatError(f"standard input:{error.number}: {error}, which no sentence has") from None
