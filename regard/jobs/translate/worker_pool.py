"""Translation in several processes: one thread on each core is faster than all cores on one batch."""

import contextlib
import math
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from regard.data.tokenizers.tokenizer import Tokenizers
from regard.decode import Search
from regard.errors import ConfigError, RegardError, RunError
from regard.hardware import configure_cpu, count_cores, pick_device
from regard.jobs.load import load, load_tokenizers
from regard.jobs.translate.engine import open_engine
from regard.progress import stage
from regard.run import open_run
from regard.tasks.translate.translator import Translation, Translator

MIN_CHUNK_TEXTS = 32
MAX_CHUNK_TEXTS = 512  # texts of one task of a worker: with more of them, its batches stay full for longer
ENGINES = ("torch", "ctranslate2")
MIN_BYTES_FOR_WORKERS = 30_000  # for shorter texts, starting workers takes longer than it saves


class TranslationBackend(Protocol):
    """A translator in this process, a pool of them, or another engine."""

    tokenizers: Tokenizers

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first; `global_indices` are those of the texts in the whole input."""
        ...


class WorkerPool:
    """Worker processes that have each loaded a run; tasks go to workers that are free."""

    def __init__(self, folder: Path, workers: int, quantize: str = "none"):
        run = open_run(folder)
        self.tokenizers = load_tokenizers(run, run.load_config())
        self._workers = workers
        self._processes: set[BaseProcess] = set()
        with _blocked_signals():
            self._executor = ProcessPoolExecutor(workers, get_context("spawn"), _init_worker, (str(folder), quantize))

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        global_indices = range(len(texts)) if global_indices is None else global_indices
        chunks = split_into_chunks(texts, self._workers)
        tasks = [([texts[i] for i in chunk], search, [global_indices[i] for i in chunk]) for chunk in chunks]
        candidates_by_index: dict[int, list[Translation]] = {}
        try:
            with _blocked_signals():
                others = set(active_children())
                results = self._executor.map(_translate_chunk, tasks)  # which starts the processes
                self._processes |= set(active_children()) - others
            with stage("translating", len(texts)) as current:
                for chunk, translations in zip(chunks, results, strict=True):
                    candidates_by_index |= zip(chunk, translations, strict=True)
                    current.advance(len(chunk))
        except BrokenProcessPool:
            raise RunError(
                f"one of {self._workers} worker processes died. Memory may have run out, or a script has started them "
                f'outside of `if __name__ == "__main__":`. Try --workers 1.'
            ) from None
        return [candidates_by_index[i] for i in range(len(texts))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is not None:  # what the workers do is not needed any more
            for process in self._processes:
                process.kill()
        self._executor.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class RuntimeOptions:
    """How to translate: device, number of processes, quantization, engine."""

    device: str = "auto"
    workers: int = 0
    """Number of processes, or of CTranslate2's threads; 0: one process, or one of its threads per core."""
    quantize: str = "none"
    engine: str = "torch"

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ConfigError(f"workers={self.workers}: expected 0 or more")

    def with_workers_for(self, num_bytes: int) -> "RuntimeOptions":
        """The same for `num_bytes` of text: a worker per core for a long text on a CPU, unless a number is set."""
        is_long = num_bytes >= MIN_BYTES_FOR_WORKERS and self.engine == "torch"
        if self.workers or not is_long or pick_device(self.device).type != "cpu":
            return self
        return replace(self, workers=count_cores())


def open_translator(folder: Path, options: RuntimeOptions) -> AbstractContextManager[TranslationBackend]:
    """The backend of a run: a pool of workers, another engine, or this process."""
    if options.engine not in ENGINES:
        raise ConfigError(f"--engine {options.engine}: expected one of {', '.join(ENGINES)}")
    if options.engine == "ctranslate2":
        if options.device not in ("auto", "cpu"):
            raise ConfigError(f"--engine ctranslate2 --device {options.device}: it runs on the CPU; leave one out")
        return contextlib.nullcontext(open_engine(folder, options.quantize, options.workers))
    on_cpu = pick_device(options.device).type == "cpu"
    num_workers = options.workers or 1
    if num_workers == 1:
        configure_cpu(0)
        return contextlib.nullcontext(load(folder, options.device, options.quantize))
    if not on_cpu:
        raise ConfigError(f"--workers {num_workers} is for CPUs; on {options.device}, use one process")
    return WorkerPool(folder, num_workers, options.quantize)


def split_into_chunks(texts: Sequence[str], workers: int) -> list[list[int]]:
    """Chunks of text indices with a similar mix of lengths, so that they take about the same time."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    rounds = math.ceil(len(texts) / (workers * MAX_CHUNK_TEXTS))
    num_chunks = min(workers * rounds, math.ceil(len(texts) / MIN_CHUNK_TEXTS))
    return [order[start::num_chunks] for start in range(num_chunks)]


_translator: Translator | RegardError | None = None  # of a worker process, or the error of loading it


@contextlib.contextmanager
def _blocked_signals() -> Iterator[None]:
    """Delay signals to end. Processes that are started inside the block never see them: this one ends them itself."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _exit_with_parent() -> None:
    """End this process at once when the one that has started it has ended, in whichever way."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _init_worker(folder: str, quantize: str) -> None:
    global _translator
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    configure_cpu(1)
    try:
        _translator = load(folder, "cpu", quantize)
    except RegardError as error:  # the pool would hide it, so it is raised by the first task
        _translator = error


def _translate_chunk(task: tuple[list[str], Search | None, list[int]]) -> list[list[Translation]]:
    if not isinstance(_translator, Translator):
        raise _translator or RunError("a worker process was never initialized")
    return _translator.candidates(*task)
