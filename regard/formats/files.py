"""Binary files for reading and writing, with transparent gzip; errors of the system become RegardErrors."""

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from regard.atomic import open_output
from regard.errors import FormatError
from regard.files import LineTooLongError, open_regular

GZIP_SUFFIX = ".gz"


MAX_DOCUMENT_BYTES = 1 << 28
"""Of a file that is translated in place, and held in memory for that: 256 MB."""
BLOCK_BYTES = 1 << 20
"""Of one read, after each of which the size is checked."""
MIN_BOMB_BYTES, MAX_EXPANSION = 1 << 24, 250
"""A file that is more than 250 times as large as its compressed form, from 16 MB on, is no text."""


@contextlib.contextmanager
def open_binary(path: Path, streams: bool = False) -> Iterator[IO[bytes]]:
    """Open a regular file for reading, decompressed if its name ends in .gz; with `streams`, a pipe too."""
    try:
        with _open(path, streams) as file:
            yield file
    except LineTooLongError as error:
        raise FormatError(
            f"{path}:{error.number}: {error}, which no sentence has. Check the file, or raise data.max_line_bytes."
        ) from None
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(
            f"{path}: not a complete gzip file ({error}). Download it again, or drop .gz from its name if it is not "
            f"compressed."
        ) from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror or error})") from None


def read_document(path: Path) -> bytes:
    """The whole content of a file, which is not larger than documents are."""
    blocks, size = [], 0
    with open_binary(path) as file:
        while block := file.read(BLOCK_BYTES):  # one read of all would allocate the limit
            blocks.append(block)
            size += len(block)
            if size > MAX_DOCUMENT_BYTES:
                raise FormatError(
                    f"{path}: has more than {MAX_DOCUMENT_BYTES:,} bytes, the limit of a document; split it"
                )
    return b"".join(blocks)


def format_suffix(path: Path) -> str:
    """The suffix that names the format, in lower case; that of x.tmx.gz is .tmx."""
    return strip_gzip_suffix(path).suffix.lower()


def strip_gzip_suffix(path: Path) -> Path:
    """The path without its .gz."""
    return path.with_suffix("") if path.suffix.lower() == GZIP_SUFFIX else path


@contextlib.contextmanager
def create_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed if its name ends in .gz. It replaces an old one only once it is complete."""
    with open_output(path) as raw, _compressed(raw, path) as file:
        yield file


def write(path: Path, content: bytes) -> None:
    """Write a file as `create_binary` does."""
    with create_binary(path) as file:
        file.write(content)


def _compressed(raw: IO[bytes], path: Path) -> Any:
    if path.suffix.lower() != GZIP_SUFFIX:
        return contextlib.nullcontext(raw)
    # No name and no time stamp in the compressed file: the same content gives the same bytes.
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)


def _open(path: Path, streams: bool) -> Any:
    file = path.open("rb") if streams else open_regular(path)
    if path.suffix.lower() != GZIP_SUFFIX:
        return file
    return io.BufferedReader(_Decompressed(file, path), 1 << 16)


class _Decompressed(io.RawIOBase):
    """The content of a gzip file, up to the size that the compressed one makes plausible."""

    def __init__(self, file: IO[bytes], path: Path):
        self._file, self._path = file, path
        self._content = gzip.GzipFile(fileobj=file)
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._content.readinto(memoryview(buffer)[:BLOCK_BYTES])
        self._size += count
        if self._size > MIN_BOMB_BYTES and self._size > MAX_EXPANSION * self._file.tell():
            raise FormatError(
                f"{self._path}: expands to more than {MAX_EXPANSION} times its size, as no text does; decompress it "
                f"yourself if it is what it should be"
            )
        return count

    def close(self) -> None:
        self._content.close()
        self._file.close()
        super().close()
