"""What a student's function may use, and the process that it runs in."""

import contextlib
import io
import os
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CheckLimits:
    """Limits on one function."""

    cpu_seconds: int = 10
    wall_seconds: float = 60.0
    """For one that waits instead of computing."""
    memory_mb: int = 1024
    """Beyond what Python and PyTorch use."""
    file_mb: int = 10
    printed_characters: int = 1_000_000

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class OutputLimitError(BaseException):
    """More was printed than is allowed. No Exception, which a function could catch without noticing."""


class BoundedOutput(io.TextIOBase):
    """Keeps the beginning of what is printed, and ends what prints without end."""

    SHOWN = 500

    def __init__(self, limit: int):
        self.limit, self.count, self.beginning = limit, 0, ""

    def write(self, text: str) -> int:
        self.count += len(text)
        self.beginning = (self.beginning + text)[: self.SHOWN]
        if self.count > self.limit:
            raise OutputLimitError
        return len(text)


def enter_limits(limits: CheckLimits, folder: Path) -> BoundedOutput:
    """In a process that was forked for it: a session, a folder, an output and limits of its own."""
    os.setsid()
    os.chdir(folder)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    output = BoundedOutput(limits.printed_characters)
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), output, output
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds)
    _limit(resource.RLIMIT_FSIZE, limits.file_mb << 20)
    _limit(resource.RLIMIT_CORE, 0)
    in_use = _address_space()
    if in_use:
        _limit(resource.RLIMIT_AS, in_use + (limits.memory_mb << 20))
    return output


def _limit(kind: int, amount: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # the system has a lower limit, or none of this kind
        resource.setrlimit(kind, (amount, amount + (kind == resource.RLIMIT_CPU)))


def _address_space() -> int:
    """Bytes of this process; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
