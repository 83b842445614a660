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

MAX_GROUP_TEXTS = 128  # texts that are batched together, by any number of workers: one task of a worker
ENGINES = ("auto", "torch", "native", "ctranslate2")
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

    def __init__(
        self, folder: Path, workers: int, quantize: str = "none", engine: str = "torch", uses_shortlist: bool = False
    ):
        run = open_run(folder)
        self.tokenizers = load_tokenizers(run, run.load_config())
        self._workers = workers
        self._processes: set[BaseProcess] = set()
        with _blocked_signals():
            options = (str(folder), quantize, engine, uses_shortlist)
            self._executor = ProcessPoolExecutor(workers, get_context("spawn"), _init_worker, options)

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        global_indices = range(len(texts)) if global_indices is None else global_indices
        groups = split_into_groups(texts)
        tasks = [([texts[i] for i in group], search, [global_indices[i] for i in group]) for group in groups]
        candidates_by_index: dict[int, list[Translation]] = {}
        try:
            with _blocked_signals():
                others = set(active_children())
                results = self._executor.map(_translate_group, tasks)  # which starts the processes
                self._processes |= set(active_children()) - others
            with stage("translating", len(texts)) as current:
                for group, translations in zip(groups, results, strict=True):
                    candidates_by_index |= zip(group, translations, strict=True)
                    current.advance(len(group))
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


class GroupedTranslator:
    """A translator in this process that batches the same texts together as a pool of workers."""

    def __init__(self, translator: Translator):
        self.tokenizers = translator.tokenizers
        self._translator = translator

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, global_indices: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        global_indices = range(len(texts)) if global_indices is None else global_indices
        candidates_by_index: dict[int, list[Translation]] = {}
        with stage("translating", len(texts)) as current:
            for group in split_into_groups(texts):
                group_texts, numbers = [texts[i] for i in group], [global_indices[i] for i in group]
                candidates_by_index |= zip(
                    group, self._translator.candidates(group_texts, search, numbers), strict=True
                )
                current.advance(len(group))
        return [candidates_by_index[i] for i in range(len(texts))]


def batch_in_groups(backend: TranslationBackend) -> TranslationBackend:
    """The same backend, with batches that are those of a pool of workers."""
    return GroupedTranslator(backend) if isinstance(backend, Translator) else backend


@dataclass(frozen=True)
class RuntimeOptions:
    """How to translate: device, number of processes, quantization, engine, shortlist."""

    device: str = "auto"
    workers: int = 0
    """Number of processes, or of CTranslate2's threads; 0: one process, or one of its threads per core."""
    quantize: str = "auto"
    """none (float32), int8, or auto: int8 on a CPU, unless torch is the engine that was asked for."""
    engine: str = "auto"
    """torch, native, ctranslate2, or auto: the fastest one that is there and can do what is asked."""
    shortlist: str = "auto"
    """on, off, or auto: where it was found to change next to nothing."""
    threads: int = 0
    """CPU threads of torch where one process translates; 0: as many as are fastest."""

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


def split_into_groups(texts: Sequence[str]) -> list[list[int]]:
    """Groups of text indices with a similar mix of lengths, so that they take about the same time.

    They do not depend on the number of workers: a batch rounds by its size, and eight bits by its largest number, so
    the same texts in the same groups are what makes the translations the same.
    """
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    num_groups = math.ceil(len(texts) / MAX_GROUP_TEXTS)
    return [order[start::num_groups] for start in range(num_groups)]


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


def load_with_shortlist(
    folder: Path, device: str, quantize: str, engine: str = "torch", uses_shortlist: bool = False
) -> Translator:
    """The translator of a run, with its shortlist or without."""
    translator = load(folder, device, quantize, engine=engine)
    if not uses_shortlist:
        return translator
    if not has_cross_attention((run := open_run(folder)).load_config()):
        raise ConfigError(f"--shortlist on: {folder} has a decoder alone, whose sources come in it; leave it out")
    return translator.with_shortlist(load_shortlist(run, translator.tokenizers))


def _init_worker(folder: str, quantize: str, engine: str, uses_shortlist: bool) -> None:
    global _translator
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    configure_cpu(1)
    try:
        _translator = load_with_shortlist(Path(folder), "cpu", quantize, engine, uses_shortlist)
    except RegardError as error:  # the pool would hide it, so it is raised by the first task
        _translator = error


def _translate_group(task: tuple[list[str], Search | None, list[int]]) -> list[list[Translation]]:
    if not isinstance(_translator, Translator):
        raise _translator or RunError("a worker process was never initialized")
    return _translator.candidates(*task)
