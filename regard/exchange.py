"""Folders that are replaced as a whole: at every moment, even after a kill, the old one or the new one is there.

A new folder is prepared beside its final place, in a hidden folder whose name cannot be guessed and which only its
owner may enter. It is locked as long as its process lives: one that is not locked was left by a killed process.

    .mine.regard-k3x9q2ab/lock   says what this is; locked
    .mine.regard-k3x9q2ab/new    the new folder; once the two are exchanged, the old one, which is then removed
    .mine.regard-k3x9q2ab/old    the old folder, where the system has no exchange: put back if its process is killed

What the user has added to an old folder, at any depth, is linked into the new one before the two are exchanged.
"""

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard.atomic import NAME_CHARS, acquire_lock, is_own, report_unwritten, try_lock
from regard.errors import BusyError, RunError
from regard.files import resolve

LOCK, NEW, OLD = "lock", "new", "old"
_AT_CURRENT_FOLDER, _RENAME_EXCHANGE = -100, 2  # AT_FDCWD and the flag of Linux
MAX_KEPT = 1000
"""Entries of a folder up to which it is exchanged for one output; a larger one is a place for other things, too."""
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}  # of kernels and file systems without it


@dataclass(frozen=True)
class StagedFolder:
    """A new folder beside the place it is meant for."""

    path: Path
    target: Path
    replace: bool
    """Whether another folder there may be replaced."""

    def commit(self, is_replaced: Callable[[str], bool] = lambda name: True) -> None:
        """Put the folder in its place.

        Entries of an old one are kept unless the new one has them, or `is_replaced` of their names.
        """
        if is_occupied(self.target) and not self.replace:
            raise BusyError(f"{self.target}: was written by another process meanwhile. Choose another folder.")
        try:
            if not is_occupied(self.target):
                _move_in(self.path, self.target)
                return
            _flush(self.path)
            _link_others(self.target, self.path, is_replaced)
            shutil.copymode(self.target, self.path)
            exchange(self.path, self.target)
            container = self.path.parent
            _move_others(container / (OLD if (container / OLD).exists() else NEW), self.target, is_replaced)
        except OSError as error:
            raise RunError(
                f"{self.target}: cannot be replaced ({error.strerror or error}). Choose another folder."
            ) from None
        _remove_contents(self.path.parent, self.target)

    def merge(self) -> None:
        """Move the files into the folder at the target, one by one; its other files stay."""
        for parent, _, names in os.walk(self.path):
            folder = self.target / Path(parent).relative_to(self.path)
            if folder.is_symlink():
                raise RunError(f"{folder}: is a link, and is not followed. Choose another folder.")
            folder.mkdir(exist_ok=True)
            for name in names:
                Path(parent, name).replace(folder / name)


@contextlib.contextmanager
def stage_folder(path: Path, replace: bool) -> Iterator[StagedFolder]:
    """A new folder for `path`, which takes its place when it is committed; otherwise it is removed with the block.

    Unless it may `replace` another, the place must be free by then. A link at `path` is followed, and stays.
    """
    check_folder(path)
    target = resolve(path)
    try:
        with contextlib.suppress(FileExistsError):  # a file, which is reported next
            target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        container, descriptor = _create_container(target)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error}). Choose another folder.") from None
    try:
        (container / NEW).mkdir()
        yield StagedFolder(container / NEW, target, replace)
    except (KeyboardInterrupt, SystemExit):
        if (container / NEW).exists():  # it was not committed
            report_unwritten(path)
        raise
    finally:
        _remove_contents(container, target)
        _remove_container(container)
        os.close(descriptor)


@contextlib.contextmanager
def write_folder(path: Path, owned: Container[str] = ()) -> Iterator[Path]:
    """An empty folder whose files are put into `path` when the block succeeds, all at once; its other files stay.

    Only those in folders that are `owned` are removed. Into a folder that cannot be exchanged (the current one, or one
    with very many files) they are moved one by one.
    """
    with stage_folder(path, replace=True) as staged:
        yield staged.path
        if contains_current(path) or next(islice(staged.target.rglob("*"), MAX_KEPT, None), None):
            staged.merge()
        else:
            staged.commit(owned.__contains__)


def check_folder(path: Path) -> None:
    """Refuse what cannot become a folder, before any work is done for it."""
    if (target := resolve(path)).exists() and not target.is_dir():
        raise RunError(f"{path}: is not a folder. Choose another.")


def contains_current(path: Path) -> bool:
    """Whether a folder is the current folder or contains it, and so cannot be replaced by another."""
    return path.exists() and Path.cwd().is_relative_to(resolve(path))


def recover(path: Path) -> bool:
    """Clear up after killed processes that were replacing a folder; whether another process is replacing it now."""
    target, is_busy = resolve(path), False
    for container in _find_containers(target):
        with contextlib.suppress(OSError):
            try:
                descriptor = acquire_lock(container / LOCK) if (container / LOCK).exists() else None
            except BlockingIOError:
                is_busy = True
                continue
            try:
                if descriptor is None:  # killed before it was created
                    container.rmdir()
                elif _is_leftover(container, target, descriptor):
                    _remove_contents(container, target, has_ended=try_lock(descriptor))
                    _remove_container(container)
            finally:
                if descriptor is not None:
                    os.close(descriptor)
    return is_busy


def _is_leftover(container: Path, target: Path, descriptor: int) -> bool:
    """Whether a folder with the name of a staging folder is one."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        content = file.read(len(_describe(target)) + 1)
    return content == _describe(target) or (content == b"" and _names(container) == [LOCK])  # killed before writing


def exchange(new: Path, target: Path, swap: "Callable[[Path, Path], bool] | None" = None) -> None:
    """Let two folders trade places, in one operation of the system if it has one.

    Otherwise the old one is moved away first, beside the new one, and is put back at the next start after a kill.
    """
    if (swap or swap_names)(new, target):
        return
    try:
        target.rename(new.with_name(OLD))
        new.rename(target)
    except BaseException:
        _put_back(new.parent, target)
        raise


def _put_back(container: Path, target: Path) -> bool:
    """Put the old folder back if it was moved away and nothing came in its place; False if its place is taken."""
    if (container / OLD).exists() and (container / NEW).exists():
        if is_occupied(target):
            return False
        _move_in(container / OLD, target)
    return True


def swap_names(first: Path, second: Path) -> bool:
    """Exchange two names in one operation; False if this system has none."""
    if sys.platform != "linux":
        return False
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    sys.audit("os.rename", os.fspath(first), os.fspath(second), -1, -1)  # as Python's own functions do
    names = os.fsencode(first), os.fsencode(second)
    if renameat2(_AT_CURRENT_FOLDER, names[0], _AT_CURRENT_FOLDER, names[1], _RENAME_EXCHANGE) == 0:
        return True
    if (number := ctypes.get_errno()) in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), os.fspath(second))


def is_occupied(path: Path) -> bool:
    """Whether there is a file, or a folder that is not empty."""
    return path.exists() and (not path.is_dir() or bool(_names(path)))


def _move_in(folder: Path, target: Path) -> None:
    """Rename a folder to a name that is free or has an empty folder."""
    if target.exists():
        shutil.copymode(target, folder)
        if os.name == "nt":  # where an empty folder is not replaced
            target.rmdir()
    folder.rename(target)


def _link_others(source: Path, copy: Path, is_replaced: Callable[[str], bool]) -> None:
    """Hard links in `copy` to everything in `source` that is not replaced."""
    device = source.stat().st_dev
    for old, new in _list_others(source, copy, is_replaced):
        _link_tree(old, new, device)


def _move_others(old: Path, target: Path, is_replaced: Callable[[str], bool]) -> None:
    """Move what was added to the old folder after the links were made."""
    for old_path, new_path in _list_others(old, target, is_replaced):
        old_path.rename(new_path)


def _list_others(old: Path, new: Path, is_replaced: Callable[[str], bool]) -> Iterator[tuple[Path, Path]]:
    """What is in one folder but not in another, and where it would be there, from the top down."""
    for name in _names(old):
        if is_replaced(name):
            continue
        if not os.path.lexists(new / name):
            yield old / name, new / name
        elif _is_real_folder(old / name) and _is_real_folder(new / name):
            yield from _list_others(old / name, new / name, lambda name: False)


def _is_real_folder(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


def _link_tree(source: Path, link: Path, device: int) -> None:
    try:
        status = source.lstat()
        if status.st_dev != device:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        if not stat.S_ISDIR(status.st_mode):
            _link_file(source, link)
            return
        link.mkdir()
        for name in _names(source):
            _link_tree(source / name, link / name, device)
        shutil.copystat(source, link)
    except OSError as error:
        raise RunError(
            f"{source}: would be kept, but cannot be ({error.strerror or error}). Move it away first."
        ) from None


def _link_file(source: Path, link: Path) -> None:
    try:
        os.link(source, link, follow_symlinks=False)
    except (OSError, NotImplementedError):  # a file system without hard links, or a file of another user
        shutil.copy2(source, link, follow_symlinks=False)


def _flush(folder: Path) -> None:
    """Write a folder to the disk before another one is removed for it."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if stat.S_ISREG(path.lstat().st_mode) and os.access(path, os.R_OK):
                with path.open("rb") as file:
                    os.fsync(file.fileno())


def _create_container(target: Path) -> tuple[Path, int]:
    """A new folder beside the target for what is being prepared, and the descriptor of its lock."""
    while True:
        container = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        try:
            descriptor = acquire_lock(container / LOCK)
        except (BlockingIOError, FileNotFoundError):  # taken for a leftover by a process that starts now
            continue
        os.write(descriptor, _describe(target))
        return container, descriptor


def _find_containers(target: Path) -> Iterator[Path]:
    """The folders of this user beside the target that have the name of a staging folder for it."""
    pattern = re.compile(re.escape(_prefix(target)) + r"[a-z0-9_]{8}", re.DOTALL)
    with contextlib.suppress(OSError):
        for path in [target.with_name(name) for name in _names(target.parent) if pattern.fullmatch(name)]:
            if stat.S_ISDIR((status := path.lstat()).st_mode) and is_own(status):
                yield path


def _remove_contents(container: Path, target: Path, has_ended: bool = True) -> None:
    """Remove what was prepared or replaced; an old folder that nothing has replaced is put back first."""
    with contextlib.suppress(OSError):
        if _put_back(container, target) and has_ended:
            for name in (NEW, OLD):
                shutil.rmtree(container / name, ignore_errors=True)


def _remove_container(container: Path) -> None:
    """The lock goes last: a folder without it is not recognized."""
    with contextlib.suppress(OSError):
        if _names(container) == [LOCK]:
            (container / LOCK).unlink()
            container.rmdir()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _prefix(target: Path) -> str:
    return f".{target.name[:NAME_CHARS]}.regard-"


def _describe(target: Path) -> bytes:
    """The content of the lock."""
    return b"Regard prepares this folder here: " + os.fsencode(target.name) + b"\n"
