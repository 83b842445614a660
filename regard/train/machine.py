"""What this machine can do: its rate of matrix products, measured, and its memory."""

import os
import time

import torch

TRY_SECONDS = 0.3
SHAPE = (1024, 256, 1024)


def multiply_rate(seconds: float = TRY_SECONDS) -> float:
    """Floating-point operations a second of matrix products of the size that training uses."""
    rows, inner, columns = SHAPE
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    a @ b
    rounds, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        a @ b
        rounds += 1
    return 2 * rows * inner * columns * rounds / (time.perf_counter() - start)


def memory() -> int:
    """Bytes of memory that are free to use; 0 where the system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
