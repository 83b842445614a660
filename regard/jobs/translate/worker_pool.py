"""Translation in several processes: one thread on each core is faster than all cores on one batch."""

import contextlib
import math
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
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
from regard.jobs.run_kind import has_cross_attention
from regard.jobs.shortlist.record import load_shortlist
from regard.progress import stage
from regard.run import open_run
from regard.tasks.translate.translator import Translation, Translator

MIN_CHUNK_TEXTS = 32
MAX_CHUNK_TEXTS = 512  # texts of one task of a worker: with more of them, its batches stay full for longer
ENGINES = ("auto", "torch", "ctranslate2")
SHORTLIST_MODES = ("auto", "on", "off")
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

    def __init__(self, folder: Path, workers: int, quantize: str = "none", uses_shortlist: bool = False):
        run = open_run(folder)
        self.tokenizers = load_tokenizers(run, run.load_config())
        self._workers = workers
        self._processes: set[BaseProcess] = set()
        with _blocked_signals():
            options = (str(folder), quantize, uses_shortlist)
            self._executor = ProcessPoolExecutor(workers, get_context("spawn"), _init_worker, options)

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
    """How to translate: device, number of processes, quantization, engine, shortlist."""

    device: str = "auto"
    workers: int = 0
    """Number of processes, or of CTranslate2's threads; 0: one process, or one of its threads per core."""
    quantize: str = "auto"
    """none (float32), int8, or auto: int8 on a CPU, unless torch is the engine that was asked for."""
    engine: str = "auto"
    """torch, ctranslate2, or auto: the fastest one that is installed and can do what is asked."""
    shortlist: str = "auto"
    """on, off, or auto: where it was found to change next to nothing."""

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ConfigError(f"workers={self.workers}: expected 0 or more")
        for name, choices in (("engine", ENGINES), ("shortlist", SHORTLIST_MODES)):
            if getattr(self, name) not in choices:
                raise ConfigError(f"--{name} {getattr(self, name)}: expected one of {', '.join(choices)}")

    def with_workers_for(self, num_bytes: int) -> "RuntimeOptions":
        """The same for `num_bytes` of text: a worker per core for a long text on a CPU, unless a number is set."""
        is_long = num_bytes >= MIN_BYTES_FOR_WORKERS and self.engine != "ctranslate2"
        if self.workers or not is_long or pick_device(self.device).type != "cpu":
            return self
        return replace(self, workers=count_cores())


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


def load_with_shortlist(folder: Path, device: str, quantize: str, uses_shortlist: bool) -> Translator:
    """The translator of a run, with its shortlist or without."""
    translator = load(folder, device, quantize)
    if not uses_shortlist:
        return translator
    if not has_cross_attention((run := open_run(folder)).load_config()):
        raise ConfigError(f"--shortlist on: {folder} has a decoder alone, whose sources come in it; leave it out")
    return translator.with_shortlist(load_shortlist(run, translator.tokenizers))


def _init_worker(folder: str, quantize: str, uses_shortlist: bool) -> None:
    global _translator
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    configure_cpu(1)
    try:
        _translator = load_with_shortlist(Path(folder), "cpu", quantize, uses_shortlist)
    except RegardError as error:  # the pool would hide it, so it is raised by the first task
        _translator = error


def _translate_chunk(task: tuple[list[str], Search | None, list[int]]) -> list[list[Translation]]:
    if not isinstance(_translator, Translator):
        raise _translator or RunError("a worker process was never initialized")
    return _translator.candidates(*task)
