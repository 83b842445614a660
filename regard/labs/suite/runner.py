"""Labs in worker processes: one thread each, and a lab that fails, even one that ends its process, stops no other."""

import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

from regard.errors import LabError, RegardError
from regard.labs.suite.measurement import LabTask, Measurement, run_task

DEFAULT_WORKERS = 2
READY = "ready"


@dataclass
class LabWorker:
    """A process, the pipe to it, and the number of the task that it does; None while it starts."""

    process: SpawnProcess
    connection: "Connection[object, object]"
    task: int | None = None


def run_tasks(tasks: Sequence[LabTask], workers: int = DEFAULT_WORKERS) -> Iterator[tuple[int, Measurement | str]]:
    """The number of each task with what was measured, or the sentence of its error, as they come."""
    waiting = deque(range(len(tasks)))
    lab_workers = [_start_worker() for _ in range(min(workers, len(tasks)))]
    remaining = len(tasks)
    try:
        while remaining:
            for connection in wait([worker.connection for worker in lab_workers]):
                worker = next(one for one in lab_workers if one.connection is connection)
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    message = _describe_end(worker)
                    lab_workers[lab_workers.index(worker)] = replacement = _start_worker()
                    if worker.task is None:  # it cannot even start
                        raise LabError(message) from None
                    yield worker.task, message
                    remaining, worker = remaining - 1, replacement
                    continue
                if worker.task is not None:
                    yield worker.task, cast(Measurement | str, message)
                    remaining -= 1
                worker.task = waiting.popleft() if waiting else -1
                if worker.task >= 0:
                    worker.connection.send(tasks[worker.task])
    finally:
        for worker in lab_workers:
            worker.process.kill()
            worker.process.join()
            worker.connection.close()


def _start_worker() -> LabWorker:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve_tasks, args=(there,), daemon=True)
    with _blocked_interrupt():
        process.start()
    there.close()  # so that its end is seen here when the process ends
    return LabWorker(process, here)


@contextlib.contextmanager
def _blocked_interrupt() -> Iterator[None]:
    """Processes that start inside never see Ctrl-C, which is the affair of this one."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _describe_end(worker: LabWorker) -> str:
    worker.process.join()
    code = worker.process.exitcode or 0
    end = f"was ended by signal {-code}; memory may have run out" if code < 0 else f"ended with code {code}"
    if worker.task is None:
        return f'a process for labs {end}: a script starts labs inside of `if __name__ == "__main__":`'
    return f"the process of this lab {end}"


def serve_tasks(connection: "Connection[object, object]") -> None:
    """Run tasks until the process is ended; what labs print goes nowhere."""
    import torch

    torch.set_num_threads(1)
    with Path(os.devnull).open("w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    connection.send(READY)
    while True:
        try:
            task = cast(LabTask, connection.recv())
        except (EOFError, OSError):
            return
        connection.send(_try_task(task))


def _try_task(task: LabTask) -> Measurement | str:
    try:
        return run_task(task)
    except RegardError as error:
        return str(error)
    except MemoryError:
        return f"lab '{task.path.stem}' needs more memory than there is"
    except SystemExit as error:
        return f"lab '{task.path.stem}' ended its process with exit({error.code!r})"
    except Exception as error:
        return f"lab '{task.path.stem}' failed: {type(error).__name__}: {error}"
