"""Several processes that translate side by side: one thread on each core beats all cores at one batch."""

import contextlib
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from regard.data.tokenizer import Tokenizers
from regard.decode import Search
from regard.errors import ConfigError, RegardError, RunError
from regard.jobs.load import cores, load, load_tokenizers, pick_device, use_threads
from regard.jobs.translate.engine import engine
from regard.run import open_run
from regard.tasks.translate import Translation, Translator

SMALLEST, LARGEST = 32, 512  # texts that a worker takes at a time: the more, the longer is its batch full
ENGINES = ("torch", "ctranslate2")
WORTHWHILE = 30_000  # bytes of text from which on starting workers pays


class Candidates(Protocol):
    """Whoever finds translations: a translator in this process, or a crew of them."""

    tokenizers: Tokenizers

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, numbers: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        """The translations of each text, best first; `numbers` says which texts of the whole job they are."""
        ...


class Crew:
    """Workers that have each loaded a run; shares of the work go to whoever is free."""

    def __init__(self, folder: Path, workers: int, quantize: str = "none"):
        run = open_run(folder)
        self.tokenizers = load_tokenizers(run, run.load_config())
        self._workers = workers
        self._pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (str(folder), quantize))

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, numbers: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        numbers = range(len(texts)) if numbers is None else numbers
        parts = shares(texts, self._workers)
        work = [([texts[i] for i in part], search, [numbers[i] for i in part]) for part in parts]
        found: dict[int, list[Translation]] = {}
        try:
            for part, translations in zip(parts, self._pool.map(_translate, work), strict=True):
                found |= zip(part, translations, strict=True)
        except BrokenProcessPool:
            raise RunError(
                f"one of {self._workers} translating processes died, most likely for want of memory; try --workers 1"
            ) from None
        return [found[i] for i in range(len(texts))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Terms:
    """Who shall translate: on which device, by how many, in which numbers, by which engine."""

    device: str = "auto"
    workers: int = 0
    """How many processes, or threads of CTranslate2; 0 leaves it to the text and the machine."""
    quantize: str = "none"
    engine: str = "torch"


def hire(folder: Path, terms: Terms, size: int) -> AbstractContextManager[Candidates]:
    """Whoever is right for so many bytes of text: a crew for long texts on a CPU, and this process for the rest."""
    if terms.engine not in ENGINES:
        raise ConfigError(f"--engine {terms.engine}: expected one of {', '.join(ENGINES)}")
    if terms.engine == "ctranslate2":
        if terms.device not in ("auto", "cpu"):
            raise ConfigError(f"--engine ctranslate2 --device {terms.device}: it runs on the CPU here; leave one out")
        return contextlib.nullcontext(engine(folder, terms.quantize, terms.workers))
    on_cpu = pick_device(terms.device).type == "cpu"
    count = terms.workers or (cores() if on_cpu and size >= WORTHWHILE else 1)
    if count == 1:
        use_threads(0)
        return contextlib.nullcontext(load(folder, terms.device, terms.quantize))
    if not on_cpu:
        raise ConfigError(f"--workers {count} is for CPUs; on {terms.device} one process does it all")
    return Crew(folder, count, terms.quantize)


def shares(texts: Sequence[str], workers: int) -> list[list[int]]:
    """Shares of texts, of all lengths alike, so that they take equally long."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    rounds = math.ceil(len(texts) / (workers * LARGEST))
    count = min(workers * rounds, math.ceil(len(texts) / SMALLEST))
    return [order[start::count] for start in range(count)]


_translator: Translator | RegardError | None = None  # of a worker, or why it has none


def _begin(folder: str, quantize: str) -> None:
    global _translator
    use_threads(1)
    try:
        _translator = load(folder, "cpu", quantize)
    except RegardError as error:  # a pool would hide it: it is told with the first piece of work
        _translator = error


def _translate(work: tuple[list[str], Search | None, list[int]]) -> list[list[Translation]]:
    if not isinstance(_translator, Translator):
        raise _translator or RunError("a translating process was never begun")
    return _translator.candidates(*work)
