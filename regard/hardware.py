"""The hardware of this machine: its device, CPU threads and memory, and its matrix throughput, measured."""

import contextlib
import ctypes
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import ConfigError

if TYPE_CHECKING:
    import torch

TRIES, TRY_SECONDS = 10, 0.05
MATMUL_SHAPE = (1024, 256, 1024)
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8  # of <malloc.h>
RETAIN_MALLOC_OPTIONS = {M_MMAP_THRESHOLD: 1 << 30, M_TRIM_THRESHOLD: 1 << 30, M_TOP_PAD: 64 << 20}


def pick_device(name: str, index: int = 0) -> "torch.device":
    """The device of a name. auto: a GPU if there is one; of several GPUs, the one with this index."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda" and index:
        name = f"cuda:{index}"
    try:
        device = torch.device(name)
        float(torch.ones(1, device=device).sum())
    except (RuntimeError, AssertionError, ImportError) as error:
        raise ConfigError(f"device {name!r} is not available ({str(error).split(chr(10))[0]})") from None
    return device


def configure_cpu(threads: int, num_processes: int = 1) -> int:
    """As `set_threads`, and retain the memory of freed tensors from now on."""
    threads = set_threads(threads, num_processes)
    retain_freed_memory()
    return threads


def set_threads(threads: int, num_processes: int = 1) -> int:
    """Set and return the number of CPU threads. 0: one per core, divided among the processes on this machine."""
    import torch

    torch.set_num_threads(threads or max(1, count_cores() // num_processes))
    # Denormal numbers are a hundred times slower on a CPU. A thread takes this setting over when it starts, so it must
    # be set before the first product.
    torch.set_flush_denormal(True)
    use_single_malloc_arena()
    return torch.get_num_threads()


def count_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure_matmul_flops(tries: int = TRIES) -> float:
    """Floating-point operations per second of matrix multiplications of the size that training uses.

    The best of several short tries: a machine that is busy for a moment is not a slow machine.
    """
    import torch

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
    """Bytes of memory that are free or can be freed at once; the page cache does not count as used.

    0 where the system does not report it.
    """
    return min(
        (free for free in (_system_available_memory(), _cgroup_available_memory()) if free is not None), default=0
    )


def _system_available_memory() -> int | None:
    """Of the machine; None where it is not reported."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().strip().split("\n"))
        return int(fields["MemAvailable"].split()[0]) * 1024
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroup_available_memory(cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Of the limit of a container; None where there is no limit."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        fields = dict(line.split() for line in (cgroup / "memory.stat").read_text().strip().split("\n"))
        return max(0, limit - used + int(fields["inactive_file"]))
    return None


def use_single_malloc_arena() -> None:
    """Let all threads share one heap: memory that one of them frees can be reused by another or returned to the system.

    An option of glibc; elsewhere nothing happens.
    """
    _set_malloc_options({M_ARENA_MAX: 1})


def retain_freed_memory() -> None:
    """Keep freed memory for the next tensor instead of returning it: the system hands out pages slowly.

    What was freed before is returned first.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
    _set_malloc_options(RETAIN_MALLOC_OPTIONS)


def _set_malloc_options(options: dict[int, int]) -> None:
    with contextlib.suppress(AttributeError, OSError, TypeError):
        for option, value in options.items():
            ctypes.CDLL(None).mallopt(option, value)
