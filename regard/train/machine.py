"""What this machine can do: its rate of matrix products, measured, and its memory."""

import ctypes
import os
import time

import torch

TRIES, TRY_SECONDS = 10, 0.05
SHAPE = (1024, 256, 1024)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # of <malloc.h>
KEPT = {M_MMAP_THRESHOLD: 1 << 30, M_TRIM_THRESHOLD: 1 << 30, M_TOP_PAD: 64 << 20, M_ARENA_MAX: 1}


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
    """Bytes of memory that are free to use; 0 where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def keep_memory() -> None:
    """Have freed memory kept for the next tensor instead of given back: the system hands out pages slowly.

    What was freed until now goes back first. From now on all threads share one heap, so that what one of them frees
    another can use. Only glibc can be told so; elsewhere nothing happens.
    """
    try:
        mallopt, trim = ctypes.CDLL(None).mallopt, ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim(0)
    for option, value in KEPT.items():
        mallopt(option, value)
