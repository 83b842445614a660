"""Bytes in and out: gzip is opened in passing, and what the disk says becomes a sentence."""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from regard.errors import FormatError

GZIP_SUFFIX = ".gz"


@contextlib.contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """A file to read bytes from, unpacked if its name ends in .gz."""
    try:
        with _open(path) as file:
            yield file
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(
            f"{path}: not a whole gzip file ({error}). Fetch it again, or drop .gz from its name if it is not packed."
        ) from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None


def format_suffix(path: Path) -> str:
    """The ending that tells the format, in lower case; that of x.tmx.gz is .tmx."""
    return strip_gzip_suffix(path).suffix.lower()


def strip_gzip_suffix(path: Path) -> Path:
    """The path without its .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP_SUFFIX else path


def write(path: Path, content: bytes) -> None:
    """Write a file aside and rename it, packed if its name ends in .gz: a full disk leaves the old one whole."""
    temporary = path.with_name(path.name + ".aside")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # No time stamp in the packed file: the same document gives the same bytes.
        temporary.write_bytes(gzip.compress(content, mtime=0) if path.suffix.lower() == GZIP_SUFFIX else content)
        temporary.replace(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _open(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == GZIP_SUFFIX else path.open("rb")
