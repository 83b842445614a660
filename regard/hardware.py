"""What this machine can do: its rate of matrix products, measured, and its memory."""

import contextlib
import ctypes
import os
import time
from pathlib import Path

import torch

TRIES, TRY_SECONDS = 10, 0.05
SHAPE = (1024, 256, 1024)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # of <malloc.h>
KEPT = {M_MMAP_THRESHOLD: 1 << 30, M_TRIM_THRESHOLD: 1 << 30, M_TOP_PAD: 64 << 20}


def multiply_rate(tries: int = TRIES) -> float:
    """Floating-point operations a second of matrix products of the size that training uses.

    The best of several short tries: a machine that is busy for a moment is not a slow machine.
    """
    rows, inner, columns = SHAPE
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    a @ b
    best = 0.0
    for _ in range(tries):
        rounds, start = 0, time.perf_counter()
        while time.perf_counter() - start < TRY_SECONDS:
            a @ b
            rounds += 1
        best = max(best, 2 * rows * inner * columns * rounds / (time.perf_counter() - start))
    return best


def memory() -> int:
    """Bytes of memory that are free to use, or could be at once: files that are merely remembered do not count as used.

    0 where the system does not say.
    """
    return min((free for free in (_available(), _allowed()) if free is not None), default=0)


def _available() -> int | None:
    """Of the machine."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().strip().split("\n"))
        return int(fields["MemAvailable"].split()[0]) * 1024
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _allowed(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Of what a container may use; None where nothing is said."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        most, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        fields = dict(line.split() for line in (group / "memory.stat").read_text().strip().split("\n"))
        return max(0, most - used + int(fields["inactive_file"]))
    return None


def share_memory() -> None:
    """Have all threads share one heap: what one of them frees another can use, or the system can have back.

    Only glibc can be told so; elsewhere nothing happens.
    """
    _tell({M_ARENA_MAX: 1})


def keep_memory() -> None:
    """Have freed memory kept for the next tensor instead of given back: the system hands out pages slowly.

    What was freed until now goes back first.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    _tell(KEPT)


def _tell(options: dict[int, int]) -> None:
    with contextlib.suppress(AttributeError, OSError, TypeError):
        for option, value in options.items():
            ctypes.CDLL(None).mallopt(option, value)
