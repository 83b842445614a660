"""Several processes that translate side by side: one thread on each core beats all cores at one batch."""

import contextlib
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from regard.data.tokenizer import Tokenizers
from regard.decode import Search
from regard.errors import ConfigError
from regard.jobs.load import load, load_tokenizers, pick_device, use_threads
from regard.run import open_run
from regard.tasks.translate import Translation, Translator

SENTENCES, CHARACTERS = 64, 12_000  # of a batch that a worker takes
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
    """Workers that have each loaded a run; batches of like length go to whoever is free."""

    def __init__(self, folder: Path, workers: int):
        run = open_run(folder)
        self.tokenizers = load_tokenizers(run, run.load_config())
        self._pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (str(folder),))

    def candidates(
        self, texts: Sequence[str], search: Search | None = None, numbers: Sequence[int] | None = None
    ) -> list[list[Translation]]:
        numbers = range(len(texts)) if numbers is None else numbers
        batches = list(_batches(texts))
        work = [([texts[i] for i in batch], search, [numbers[i] for i in batch]) for batch in batches]
        found: dict[int, list[Translation]] = {}
        for batch, translations in zip(batches, self._pool.map(_translate, work), strict=True):
            found |= zip(batch, translations, strict=True)
        return [found[i] for i in range(len(texts))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)


def hire(folder: Path, device: str, workers: int, size: int) -> AbstractContextManager[Candidates]:
    """Whoever is right for so many bytes of text: a crew for long texts on a CPU, and this process for the rest.

    `workers`: how many processes; 0 leaves it to the text and the machine.
    """
    on_cpu = pick_device(device).type == "cpu"
    count = workers or (cores() if on_cpu and size >= WORTHWHILE else 1)
    if count == 1:
        use_threads(0)
        return contextlib.nullcontext(load(folder, device))
    if not on_cpu:
        raise ConfigError(f"--workers {count} is for CPUs; on {device} one process does it all")
    return Crew(folder, count)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batches(texts: Sequence[str]) -> list[list[int]]:
    """Texts of like length together, the longest first: what takes longest must not come last."""
    batches: list[list[int]] = []
    for i in sorted(range(len(texts)), key=lambda i: -len(texts[i])):
        last = batches[-1] if batches else []
        if not last or len(last) >= SENTENCES or (len(last) + 1) * len(texts[last[0]]) > CHARACTERS:
            batches.append([])
        batches[-1].append(i)
    return batches


_translator: Translator | None = None  # of a worker


def _begin(folder: str) -> None:
    global _translator
    _translator = load(folder, "cpu")
    use_threads(1)


def _translate(work: tuple[list[str], Search | None, list[int]]) -> list[list[Translation]]:
    assert _translator is not None
    return _translator.candidates(*work)
