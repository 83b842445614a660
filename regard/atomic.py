"""Files that are written completely or not at all."""

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from regard.errors import WriteError

TEMPORARY_SUFFIX = ".regard-tmp"  # which no file of the user has


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path whose file replaces `path` only if the block succeeds."""
    if not path.name:
        raise WriteError(f"{path}: is a folder; give the name of a file")
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise WriteError(
            f"{path}: could not be written ({error.strerror or error}); the existing file is unchanged"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
