"""Binary files for reading and writing, with transparent gzip; errors of the system become FormatErrors."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from regard.atomic import TEMPORARY_SUFFIX
from regard.errors import FormatError

GZIP_SUFFIX = ".gz"


@contextlib.contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed if its name ends in .gz."""
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(
            f"{path}: not a complete gzip file ({error}). Download it again, or drop .gz from its name if it is not "
            f"compressed."
        ) from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None


def format_suffix(path: Path) -> str:
    """The suffix that names the format, in lower case; that of x.tmx.gz is .tmx."""
    return strip_gzip_suffix(path).suffix.lower()


def strip_gzip_suffix(path: Path) -> Path:
    """The path without its .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP_SUFFIX else path


@contextlib.contextmanager
def create_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed if its name ends in .gz. It replaces an old one only once it is complete."""
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as raw, _compressed(raw, path) as file:
            yield file
        temporary.replace(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write(path: Path, content: bytes) -> None:
    """Write a file as `create_binary` does."""
    with create_binary(path) as file:
        file.write(content)


def _compressed(raw: IO[bytes], path: Path) -> Any:
    if path.suffix.lower() != GZIP_SUFFIX:
        return contextlib.nullcontext(raw)
    # No name and no time stamp in the compressed file: the same content gives the same bytes.
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)


def _open(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == GZIP_SUFFIX else path.open("rb")
