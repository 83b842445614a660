"""The one reader of files that others may have written: regular files only, of bounded size, JSON of the right shape.

    resolve(path)                its absolute path, without links
    open_regular(path)           a binary file; a pipe, a device or a folder is refused without waiting for it
    read_bytes, read_text        the whole of one, up to a limit
    iter_lines(file)             its lines, none of which is longer than a limit
    read_json(path, shape)       a value of that shape: a dataclass, dict[str, str], list[int] …
    parse_json(raw, shape)       the same from bytes that were read already

A file that cannot be read is an OSError, content that is wrong a ValueError; each caller adds which
file it wanted and what to do. JSON is parsed by pydantic's parser, which bounds depth and the digits of integers and
accepts no half surrogate pair.
"""

import errno
import functools
import io
import itertools
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar, overload

from pydantic import AllowInfNan, Field, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

MAX_BYTES = 1 << 28
"""Of a file that is read as a whole: 256 MB. Weights and corpora are mapped or streamed instead."""
MAX_SHOWN = 60  # characters of a value in a message
NOT_REGULAR = {stat.S_IFDIR: "is a folder", stat.S_IFIFO: "is a pipe", stat.S_IFSOCK: "is a socket"}
MAX_LINE_BYTES = 1_000_000
"""Of one line, unless data.max_line_bytes is set: a line that never ends costs no memory."""
Shape = TypeVar("Shape")

Finite = Annotated[float, AllowInfNan(False)]
"""A number that is neither infinite nor NaN."""
Count = Annotated[int, Field(ge=0, lt=2**53)]
"""A number of things, as exact in JSON as in Python."""


class LineTooLongError(ValueError):
    """A line that has more bytes than are allowed."""

    def __init__(self, number: int, limit: int):
        self.number = number
        super().__init__(f"line {number:,} has more than {limit:,} bytes")


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading. A symbolic link is followed; anything else is an OSError at once."""
    # Without O_NONBLOCK, opening a pipe waits until a process writes into it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
        if kind != stat.S_IFREG:
            problem = f"{NOT_REGULAR.get(kind, 'is a device')}; expected a regular file"
            raise OSError(errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL, problem, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def resolve(path: str | os.PathLike[str]) -> Path:
    """The absolute path without links; a link that leads to itself is left as it is, not a RuntimeError."""
    return Path(os.path.realpath(path))


def open_lock(path: Path) -> IO[bytes]:
    """Open a file that is only locked, and create it if needed; a FIFO in its place is not waited for."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666), "rb+", buffering=0)


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file, which has at most `limit` bytes."""
    with open_regular(path) as file:
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise OSError(errno.EFBIG, f"has more than {limit:,} bytes", str(path))
    return raw


def iter_lines(file: IO[bytes], limit: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """The lines of a file with their line ends; one of more than `limit` bytes is a ValueError with its number."""
    for number in itertools.count(1):
        line = file.readline(limit + 2)  # two more for \r\n
        if not line:
            return
        if len(line) > limit and len(line.rstrip(b"\r\n")) > limit:
            raise LineTooLongError(number, limit)
        yield line


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """The content of a UTF-8 file."""
    return read_bytes(path, limit).decode("utf-8")


@overload
def read_json(path: Path, shape: type[Shape]) -> Shape: ...
@overload
def read_json(path: Path, shape: Any = Any) -> Any: ...
def read_json(path: Path, shape: Any = Any) -> Any:
    """The value of a JSON file, if it has this shape; the ValueError says where it has not."""
    return parse_json(read_bytes(path), shape)


@overload
def parse_json(raw: bytes | str, shape: type[Shape], finite: bool = True) -> Shape: ...
@overload
def parse_json(raw: bytes | str, shape: Any = Any, finite: bool = True) -> Any: ...
def parse_json(raw: bytes | str, shape: Any = Any, finite: bool = True) -> Any:
    """A JSON text as a value of this shape, without conversions: "3" is no number, and 1 is not true.

    With `finite`, every number is finite, although 1e999 is valid JSON.
    """
    value = from_json(raw, allow_inf_nan=not finite)
    if finite:
        _require_finite(value)
    return value if shape is Any else _validate(raw, shape)


def check_shape(value: Any, shape: type[Shape]) -> Shape:
    """A value of parsed JSON as this shape."""
    return _validate(to_json(value, inf_nan_mode="constants"), shape)


def _validate(raw: bytes | str, shape: Any) -> Any:
    try:
        return _adapter(shape).validate_json(raw, strict=True)
    except ValidationError as error:
        raise ValueError(_describe(error)) from None


def _require_finite(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_finite(inner)  # as deep as the parser allows, which is not deep


@functools.cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _describe(error: ValidationError) -> str:
    """The first of pydantic's errors."""
    first = error.errors(include_url=False)[0]
    message = first["msg"][0].lower() + first["msg"][1:]
    if first["type"] == "json_invalid":
        return message.removeprefix("invalid JSON: ")
    place = ".".join(str(part)[:MAX_SHOWN] for part in first["loc"])
    value = ascii(first["input"])
    shown = value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}…"
    return f"{f'{place}: ' if place else ''}{message}, got {shown}"
