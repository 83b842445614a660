"""Which engine translates: the fastest that is installed and can do what is asked, or the one that was named."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from regard.decode import BeamSearch, GreedySearch, Search
from regard.errors import ConfigError, RegardError
from regard.hardware import configure_cpu, pick_device
from regard.interchange.engine import CTranslate2Translator
from regard.jobs.load import LINEAR_FACTORIES, load
from regard.jobs.shortlist.record import decide
from regard.jobs.translate.engine import open_engine
from regard.jobs.translate.worker_pool import RuntimeOptions, TranslationBackend, WorkerPool, load_with_shortlist
from regard.run import open_run
from regard.runtime.native.coverage import covers_search
from regard.runtime.native.library import load_library

EXACT = RuntimeOptions(quantize="none", engine="torch", shortlist="off")
"""What scores are computed with: float32 numbers of torch, all tokens to choose from."""
NAMES = {"torch": "PyTorch", "native": "native code of Regard", "ctranslate2": "CTranslate2"}
PACKAGES = {"torch": "torch", "native": "regard", "ctranslate2": "ctranslate2"}
PRECISIONS = {"none": "float32", "int8": "int8"}


@dataclass(frozen=True)
class ChosenEngine:
    """The engine that translates, and why no other does."""

    name: str
    quantize: str
    uses_shortlist: bool
    reasons: tuple[str, ...] = ()
    """Why a faster one was not taken, and why a shortlist is used."""

    def describe(self) -> str:
        """Engine, precision, shortlist and reasons, in a line."""
        parts = [f"{NAMES[self.name]} {version(PACKAGES[self.name])}", PRECISIONS[self.quantize]]
        parts += ["with a shortlist"] if self.uses_shortlist else []
        return ", ".join(parts) + (f" ({'; '.join(self.reasons)})" if self.reasons else "")

    @property
    def signature(self) -> str:
        """What a score of its translations says; empty for those that scores are computed with by default."""
        if (self.name, self.quantize, self.uses_shortlist) == ("torch", "none", False):
            return ""
        return (
            f"by {self.name} {version(PACKAGES[self.name])}, {PRECISIONS[self.quantize]}"
            + ", shortlist" * self.uses_shortlist
        )


@dataclass(frozen=True)
class OpenedEngine:
    """An engine that is ready to translate."""

    choice: ChosenEngine
    backend: TranslationBackend


@contextlib.contextmanager
def open_chosen(folder: Path, options: RuntimeOptions, search: Search | None = None) -> Iterator[OpenedEngine]:
    """The engine of a run for this search: native code, CTranslate2, or torch, in this process or in several."""
    require_options(options)
    search = search or BeamSearch()
    opened = _open_native(folder, options, search)
    if isinstance(opened, tuple):
        with open_with_lists(folder, options, search, opened) as other:
            yield other
        return
    with _workers_of(opened, folder, options) as engine:
        yield engine


@contextlib.contextmanager
def open_with_lists(
    folder: Path, options: RuntimeOptions, search: Search | None = None, reasons: tuple[str, ...] = ()
) -> Iterator[OpenedEngine]:
    """The same among the engines that can use a shortlist: CTranslate2 and torch."""
    search = search or BeamSearch()
    opened = _open_ctranslate2(folder, options, search, reasons)
    if isinstance(opened, OpenedEngine):
        yield opened
        return
    with _open_torch(folder, options, search, opened) as opened_torch:
        yield opened_torch


def require_options(options: RuntimeOptions) -> None:
    """Refuse what no engine has, before anything is loaded."""
    if options.quantize not in ("auto", *LINEAR_FACTORIES):
        raise ConfigError(f"--quantize {options.quantize}: expected one of auto, {', '.join(LINEAR_FACTORIES)}")
    if options.engine in ("native", "ctranslate2") and options.device not in ("auto", "cpu"):
        raise ConfigError(f"--engine {options.engine} --device {options.device}: it runs on the CPU; leave one out")
    if options.engine == "native" and options.shortlist == "on":
        raise ConfigError("--engine native --shortlist on: native code chooses among all tokens; leave one out")


def _open_native(folder: Path, options: RuntimeOptions, search: Search) -> OpenedEngine | tuple[str, ...]:
    """Native code in this process, or why another engine is used; where it was asked for by name, errors are raised."""
    if options.engine not in ("auto", "native") or options.shortlist == "on":
        return ()
    if options.engine == "auto":
        if pick_device(options.device).type != "cpu":
            return ()
        if load_library() is None:
            return ("native code was not compiled for this machine",)
        if not covers_search(search):
            return (f"native code has no {type(search).__name__}",)
    quantize = "int8" if options.quantize == "auto" else options.quantize
    try:
        translator = load(folder, "cpu", quantize, engine="native")
    except RegardError as error:  # of the run itself: then torch, which comes last, says the same
        if options.engine == "native":
            raise
        return (str(error).removesuffix(". Leave out --engine native."),)
    return OpenedEngine(ChosenEngine("native", quantize, uses_shortlist=False), translator)


@contextlib.contextmanager
def _workers_of(opened: OpenedEngine, folder: Path, options: RuntimeOptions) -> Iterator[OpenedEngine]:
    """The same engine in as many processes as are asked for."""
    if options.workers <= 1:
        yield opened
        return
    with WorkerPool(folder, options.workers, opened.choice.quantize, "native") as pool:
        yield replace(opened, backend=pool)


def _open_ctranslate2(
    folder: Path, options: RuntimeOptions, search: Search, reasons: tuple[str, ...]
) -> OpenedEngine | tuple[str, ...]:
    """CTranslate2, or why torch is used instead; where it was asked for by name, its errors are raised."""
    if options.engine == "torch":
        return reasons
    if options.engine == "auto" and (reason := _why_not_ctranslate2(options, search)):
        return (*reasons, reason)
    quantize = "int8" if options.quantize == "auto" else options.quantize
    run = open_run(folder)
    decision = decide(run, options.shortlist, "ctranslate2", quantize, search)
    try:
        engine = open_engine(folder, quantize, options.workers, decision.is_used)
    except RegardError as error:  # of the run itself: then torch, which comes next, says the same
        if options.engine == "ctranslate2":
            raise
        return (*reasons, f"not CTranslate2: {error}")
    reasons += _explain_shortlist(options, decision.is_used, decision.reason)
    return OpenedEngine(ChosenEngine("ctranslate2", quantize, decision.is_used, reasons), engine)


def _why_not_ctranslate2(options: RuntimeOptions, search: Search) -> str:
    """Why CTranslate2 cannot do what is asked; empty if it can, as far as this is known without the model."""
    if find_spec("ctranslate2") is None:
        return "CTranslate2 is not installed"
    if options.device != "cpu" and (device := pick_device(options.device)).type != "cpu":
        return f"CTranslate2 runs on the CPU, not on {device}"
    if not CTranslate2Translator.can_search(search):
        return f"CTranslate2 has no {type(search).__name__} whose outputs can be repeated"
    return ""


@contextlib.contextmanager
def _open_torch(
    folder: Path, options: RuntimeOptions, search: Search, reasons: tuple[str, ...]
) -> Iterator[OpenedEngine]:
    on_cpu = pick_device(options.device).type == "cpu"
    quantize = options.quantize
    if quantize == "auto":
        # In 8 bits a batch shares one scale, so a sample would depend on the other sentences, and on --workers.
        is_fast = on_cpu and options.engine == "auto" and isinstance(search, GreedySearch | BeamSearch)
        quantize = "int8" if is_fast else "none"
    num_workers = options.workers or 1
    if num_workers > 1 and not on_cpu:
        raise ConfigError(f"--workers {num_workers} is for CPUs; on {options.device}, use one process")
    decision = decide(open_run(folder), options.shortlist, "torch", quantize, search)
    reasons += _explain_shortlist(options, decision.is_used, decision.reason)
    choice = ChosenEngine("torch", quantize, decision.is_used, reasons)
    with _torch_backend(folder, replace(options, quantize=quantize, workers=num_workers), decision.is_used) as backend:
        yield OpenedEngine(choice, backend)


def _torch_backend(
    folder: Path, options: RuntimeOptions, uses_shortlist: bool
) -> AbstractContextManager[TranslationBackend]:
    if options.workers > 1:
        return WorkerPool(folder, options.workers, options.quantize, uses_shortlist=uses_shortlist)
    configure_cpu(options.threads)
    translator = load_with_shortlist(folder, options.device, options.quantize, uses_shortlist=uses_shortlist)
    return contextlib.nullcontext(translator)


def _explain_shortlist(options: RuntimeOptions, is_used: bool, reason: str) -> tuple[str, ...]:
    """Why the translations may differ from those without a shortlist, where it was not asked for."""
    return (f"shortlist: {reason}",) if is_used and options.shortlist == "auto" else ()
