"""What this machine can do: its rate of matrix products, measured, and its memory."""

import contextlib
import ctypes
import os
import time
from pathlib import Path

import torch

TRIES, TRY_SECONDS = 10, 0.05
MATMUL_SHAPE = (1024, 256, 1024)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # of <malloc.h>
RETAIN_MALLOC_OPTIONS = {M_MMAP_THRESHOLD: 1 << 30, M_TRIM_THRESHOLD: 1 << 30, M_TOP_PAD: 64 << 20}


def measure_matmul_flops(tries: int = TRIES) -> float:
    """Floating-point operations a second of matrix products of the size that training uses.

    The best of several short tries: a machine that is busy for a moment is not a slow machine.
    """
    rows, inner, columns = MATMUL_SHAPE
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    a @ b
    best = 0.0
    for _ in range(tries):
        iterations, start = 0, time.perf_counter()
        while time.perf_counter() - start < TRY_SECONDS:
            a @ b
            iterations += 1
        best = max(best, 2 * rows * inner * columns * iterations / (time.perf_counter() - start))
    return best


def available_memory() -> int:
    """Bytes of memory that are free to use, or could be at once: files that are merely remembered do not count as used.

    0 where the system does not say.
    """
    return min(
        (free for free in (_system_available_memory(), _cgroup_available_memory()) if free is not None), default=0
    )


def _system_available_memory() -> int | None:
    """Of the machine."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().strip().split("\n"))
        return int(fields["MemAvailable"].split()[0]) * 1024
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroup_available_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Of what a container may use; None where nothing is said."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        fields = dict(line.split() for line in (cgroup / "memory.stat").read_text().strip().split("\n"))
        return max(0, limit - used + int(fields["inactive_file"]))
    return None


def use_single_malloc_arena() -> None:
    """Have all threads share one heap: what one of them frees another can use, or the system can have back.

    Only glibc can be told so; elsewhere nothing happens.
    """
    _set_malloc_options({M_ARENA_MAX: 1})


def retain_freed_memory() -> None:
    """Have freed memory kept for the next tensor instead of given back: the system hands out pages slowly.

    What was freed until now goes back first.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    _set_malloc_options(RETAIN_MALLOC_OPTIONS)


def _set_malloc_options(options: dict[int, int]) -> None:
    with contextlib.suppress(AttributeError, OSError, TypeError):
        for option, value in options.items():
            ctypes.CDLL(None).mallopt(option, value)
