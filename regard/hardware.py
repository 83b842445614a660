"""The hardware of this machine: its device, CPU threads and memory, and its matrix throughput, measured."""

import contextlib
import ctypes
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import harmonic_mean
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.progress import report_note, stage

if TYPE_CHECKING:
    import torch

TRIES, TRY_SECONDS = 10, 0.05
MATMUL_SHAPE = (1024, 256, 1024)
THREAD_SHAPE, THREAD_ROUNDS = (512, 128, 512), 5
MIN_THREAD_GAIN = 1.15  # over all cores, from which on fewer threads are used: less is noise
RUNNABLE_LOOKS, RUNNABLE_LOOK_SECONDS = 5, 0.01
LOAD_FILE, CGROUP, CPU_FILE = Path("/proc/loadavg"), Path("/sys/fs/cgroup"), Path("/proc/cpuinfo")
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


@dataclass(frozen=True)
class ThreadChoice:
    """The number of CPU threads, and the reason for it."""

    threads: int
    reason: str


def configure_cpu(threads: int, num_processes: int = 1) -> int:
    """As `set_threads`, and retain the memory of freed tensors from now on; returns the number of threads."""
    choice = set_threads(threads, num_processes)
    retain_freed_memory()
    return choice.threads


def set_threads(threads: int, num_processes: int = 1) -> ThreadChoice:
    """Set the number of CPU threads. 0: as many as are fastest, among the cores divided by the local processes."""
    import numpy as np
    import torch

    for kind in (np.float32, np.float64):
        np.finfo(kind)  # numpy before 2 warns if it first measures its numbers without denormal ones
    # Denormal numbers are a hundred times slower on a CPU. A thread takes this setting over when it starts, so it must
    # be set before the first product.
    torch.set_flush_denormal(True)
    choice = ThreadChoice(threads, "as set") if threads else choose_threads(num_processes)
    torch.set_num_threads(choice.threads)
    use_single_malloc_arena()
    return choice


def choose_threads(num_processes: int = 1) -> ThreadChoice:
    """The number of CPU threads for a process that is one of some on this machine.

    Beside other work, two threads may be ten times slower than one: each waits at every operation for the one whose
    core is taken. So on a busy machine the throughput is measured.
    """
    cores = count_cores()
    if requested := _requested_threads():
        return ThreadChoice(requested, "OMP_NUM_THREADS")
    if num_processes > 1:
        return ThreadChoice(max(1, cores // num_processes), f"the cores divided by {num_processes} processes")
    num_others = count_runnable_threads()
    if cores == 1 or not num_others:
        return ThreadChoice(cores, "one per core")
    counts = sorted({1, cores // 2, max(1, cores - num_others), cores}, reverse=True)
    with stage("measuring threads, as the machine is busy"):
        speeds = _measure_thread_counts(counts)
    fastest = max(counts, key=speeds.__getitem__)
    if speeds[fastest] < MIN_THREAD_GAIN * speeds[cores]:
        return ThreadChoice(cores, "one per core; measured, as the machine is busy")
    gain = speeds[fastest] / speeds[cores]
    reason = f"the machine is busy: {gain:.1f} times as fast as {cores}"
    report_note(f"the machine is busy, so {fastest} of {cores} threads are used: {gain:.1f} times as fast as all")
    return ThreadChoice(fastest, reason)


def _measure_thread_counts(counts: Sequence[int]) -> dict[int, float]:
    """Number of threads -> operations per second, of a few interleaved rounds: other work comes and goes.

    The harmonic mean: training takes the sum of the times, so the slow rounds count most.
    """
    speeds: dict[int, list[float]] = {count: [] for count in counts}
    for count in [*counts] * THREAD_ROUNDS:
        speeds[count].append(_measure_thread_count(count))
    return {count: harmonic_mean(values) for count, values in speeds.items()}


def _measure_thread_count(count: int) -> float:
    import torch

    torch.set_num_threads(count)
    rows, inner, columns = THREAD_SHAPE
    a, b = torch.ones(rows, inner), torch.ones(inner, columns)
    iterations, start = 0, time.perf_counter()
    while iterations == 0 or time.perf_counter() - start < TRY_SECONDS:
        torch.relu(a @ b) @ b.T  # as a feed-forward layer: large and small operations in turn
        iterations += 1
    return iterations / (time.perf_counter() - start)


def count_runnable_threads() -> int:
    """How many threads of other programs want a core at this moment: the least of a few looks; 0 if unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return min(map(_read_other_runnable_threads, range(RUNNABLE_LOOKS)))
    with contextlib.suppress(AttributeError, OSError):
        return int(os.getloadavg()[0])
    return 0


def _read_other_runnable_threads(look: int) -> int:
    """From the fourth field of /proc/loadavg, `runnable/all`, which counts this thread, too."""
    if look:
        time.sleep(RUNNABLE_LOOK_SECONDS)
    return max(0, int(LOAD_FILE.read_text().split()[3].split("/")[0]) - 1)


def count_cores() -> int:
    """How many cores this process may use: those it is bound to, a container's share, OMP_NUM_THREADS if set."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _requested_threads() or cores, _cgroup_cores() or cores)


def describe_cpu(path: Path = CPU_FILE) -> str:
    """The name of the processor as the system knows it, with the number of its cores."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    cores = count_cores()
    return f"{name}, {cores} core{'s' * (cores != 1)}"


def _requested_threads() -> int | None:
    """OMP_NUM_THREADS, of its first level; None if unset, not a number, or set by torchrun, which sets 1 for all."""
    value = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if not value.isdecimal() or int(value) < 1 or (value == "1" and "TORCHELASTIC_RUN_ID" in os.environ):
        return None
    return int(value)


def _cgroup_cores(cgroup: Path = CGROUP) -> int | None:
    """The cores of a container's time limit, rounded up; None where there is no limit."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = (cgroup / "cpu.max").read_text().split()
        return max(1, -(-int(quota) // int(period)))
    return None


def measure_matmul_flops(tries: int = TRIES, dtype: str = "float32") -> float:
    """Floating-point operations per second of matrix multiplications of the size that training uses.

    The best of several short tries: a machine that is busy for a moment is not a slow machine.
    """
    import torch

    rows, inner, columns = MATMUL_SHAPE
    a, b = (torch.randn(shape).to(getattr(torch, dtype)) for shape in ((rows, inner), (inner, columns)))
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
        (
            free
            for free in (_system_available_memory(), _cgroup_available_memory(), _process_available_memory())
            if free is not None
        ),
        default=0,
    )


def _system_available_memory() -> int | None:
    """Of the machine; None where it is not reported."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().strip().split("\n"))
        return int(fields["MemAvailable"].split()[0]) * 1024
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _cgroup_available_memory(cgroup: Path = CGROUP) -> int | None:
    """Of the limit of a container; None where there is no limit."""
    with contextlib.suppress(OSError, KeyError, ValueError):
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        fields = dict(line.split() for line in (cgroup / "memory.stat").read_text().strip().split("\n"))
        return max(0, limit - used + int(fields["inactive_file"]))
    return None


def _process_available_memory() -> int | None:
    """Of the limit of this process, as `ulimit -d` sets it; None where there is no limit."""
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
        used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        return None if limit == resource.RLIM_INFINITY else max(0, limit - used)
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
