"""Files that are written completely or not at all, and locks that end with the process that holds them.

A temporary file stands beside the file it will replace, hidden, under a name that cannot be guessed
(.out.fr.<16 digits>.regard-tmp). It is created exclusively and locked while it is written: one that is not locked was
left by a killed process, and is removed by the next one that writes the same file.
"""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from regard.errors import WriteError
from regard.files import open_regular
from regard.progress import report_note

TEMPORARY_SUFFIX = ".regard-tmp"
NAME_CHARS = 32  # of the name of a file, in that of its temporary file: names have at most 255 bytes
MAX_CHECKED_BYTES = 1 << 33
"""Of a file with a checksum: 8 GB. A sparse file of any size costs an attacker nothing, and its reader hours."""
STREAMS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_SAFE_OPEN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link is followed, no FIFO waited for
_TEMPORARY_NAME = re.compile(rf"\..+\.[0-9a-f]{{16}}{re.escape(TEMPORARY_SUFFIX)}", re.DOTALL)
_MAX_LINKS = 40  # as in Linux
SURROGATES = re.compile("[\ud800-\udfff]")  # how Python holds a byte of a file name that is not UTF-8


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path whose file replaces `path` only if the block succeeds. A link at `path` is not followed."""
    if not path.name:
        raise WriteError(f"{path}: is a folder; give the name of a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_temporary_files(path.parent, f".{path.name[:NAME_CHARS]}.")
        with _create_temporary(path) as temporary:
            yield temporary
            _fsync(temporary)
            if (mode := _mode_of(path)) is not None:
                temporary.chmod(mode)
            temporary.replace(path)
    except OSError as error:
        raise WriteError(
            f"{path}: could not be written ({error.strerror or error}); the existing file is unchanged"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically; a byte of a file name that is not UTF-8 becomes U+FFFD."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(SURROGATES.sub("\ufffd", text).encode("utf-8"))


@contextlib.contextmanager
def open_output(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that the user has named for writing. It replaces an old one only once it is complete.

    As in the shell, a link is followed, and -, /dev/stdout, /dev/stderr and /dev/fd/3 are written to as they are.
    """
    descriptor = _find_descriptor(path)
    if descriptor is None:
        try:
            with atomic_write(check_output(path)) as temporary, temporary.open("wb") as file:
                yield file
        except (KeyboardInterrupt, SystemExit):
            report_unwritten(path)
            raise
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what was printed before comes first
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WriteError(f"{path}: could not be written ({error.strerror or error})") from None


def report_unwritten(path: Path) -> None:
    """Say that an output was not complete when the program was stopped."""
    report_note(f"stopped, so {path} was not written; what was there before is unchanged")


def check_output(path: Path) -> Path:
    """The regular file, existing or not, that a path for output leads to; what could not be written is refused."""
    if (descriptor := _find_descriptor(path)) is not None:
        _require_open(path, descriptor)
        return path
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        kind = stat.S_IFMT(target.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        _require_folder(target)
        return target
    except OSError as error:
        raise WriteError(f"{path}: could not be written ({error.strerror or error})") from None
    if kind != stat.S_IFREG:
        raise WriteError(f"{path}: is {KINDS.get(kind, 'no regular file')}; give the name of a file")
    if not os.access(target, os.W_OK):  # replacing it would be possible, but the shell would not write to it either
        raise WriteError(f"{path}: could not be written (Permission denied); the existing file is unchanged")
    return target


def _require_open(path: Path, descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError as error:
        raise WriteError(f"{path}: could not be written ({error.strerror or error})") from None


def _require_folder(path: Path) -> None:
    """Refuse a file that does not exist if its folder cannot be created, or nothing can be created in it."""
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not folder.is_dir():
        raise WriteError(f"{path}: could not be written ({folder} is not a folder)")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: could not be written (nothing can be created in {folder})")


def is_stream(path: Path) -> bool:
    """Whether a path for output names an open file of this process, such as /dev/stdout."""
    return _find_descriptor(path) is not None


def _find_descriptor(path: Path) -> int | None:
    """The descriptor that a path such as /dev/stdout or /dev/fd/63 names, itself or by links."""
    for _ in range(_MAX_LINKS):
        if (name := os.fspath(path)) in STREAMS:
            return STREAMS[name]
        if match := re.fullmatch(rf"/(?:dev|proc/self|proc/{os.getpid()})/fd/([0-9]{{1,9}})", name):
            return int(match[1])
        try:
            path = Path(os.path.normpath(path.parent / path.readlink()))
        except (OSError, ValueError):
            return None
    return None


def acquire_lock(path: Path) -> int:
    """Lock a file, which is created if there is none; closing the descriptor releases it, however the process ends.

    BlockingIOError if another process holds it. Where the system has no file locks, nothing is locked.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _SAFE_OPEN, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path}: not a regular file")
            try_lock(descriptor)
            if names_file(path, descriptor):  # and not one that was replaced or removed before it was locked
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file, or raise BlockingIOError; False where the system has no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        return False
    return True


def names_file(path: Path, descriptor: int) -> bool:
    """Whether a path still names this open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def remove_temporary_files(folder: Path, prefix: str = ".") -> None:
    """Remove the temporary files in a folder that killed processes have left; files that resemble them stay."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and _TEMPORARY_NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_dead(Path(entry.path))


def _remove_dead(path: Path) -> None:
    """Remove a temporary file of this user if no process is writing it."""
    descriptor = os.open(path, os.O_RDWR | _SAFE_OPEN)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and is_own(status) and try_lock(descriptor) and names_file(path, descriptor):
            path.unlink()
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _create_temporary(path: Path) -> Iterator[Path]:
    """A new empty file beside `path`, locked inside the block, and removed at its end if it is still there."""
    temporary, descriptor = _open_temporary(path)
    try:
        yield temporary
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _open_temporary(path: Path) -> tuple[Path, int]:
    while True:
        temporary = path.with_name(f".{path.name[:NAME_CHARS]}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
        mode = 0o666 if _mode_of(path) is None else 0o600  # before the umask; an old file may be for its owner alone
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE_OPEN, mode)
        try:
            with contextlib.suppress(BlockingIOError):  # taken for a leftover by a process that starts now
                try_lock(descriptor)
                if names_file(temporary, descriptor):
                    return temporary, descriptor
        except BaseException:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)
            raise
        os.close(descriptor)


def _mode_of(path: Path) -> int | None:
    """The permissions of the file that is replaced; None if there is none."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            return stat.S_IMODE(status.st_mode)
    return None


def _fsync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sha256(path: Path) -> str:
    """The checksum of a regular file, which has at most MAX_CHECKED_BYTES."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_CHECKED_BYTES:
            raise OSError(errno.EFBIG, f"has more than {MAX_CHECKED_BYTES:,} bytes", str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()
