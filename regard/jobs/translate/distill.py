"""Self-distillation: a training set of its own pairs and of translations of their sources by one or several runs.

Translations are simpler than references and agree with each other, so a model learns more from them (Kim and Rush
2016); those of several runs add variety (Nguyen et al. 2020, Data Diversification). Nothing but the corpus is needed.

What is translated is kept beside the output until all is done, in files that name the weights and the search: a command
that was killed goes on, and writes the same bytes as one that never was.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.atomic import atomic_write, check_output, sha256, write_text
from regard.data.store import SIDES, Texts
from regard.decode import Search
from regard.errors import ConfigError, DataError, RunError
from regard.formats import Pair, jsonl, tsv
from regard.jobs.run_kind import require_task
from regard.jobs.train.training_data import find_training_store, read_texts_manifest
from regard.jobs.translate.engine_choice import open_chosen
from regard.jobs.translate.worker_pool import RuntimeOptions, TranslationBackend
from regard.progress import track
from regard.run import Run, open_run

CHUNK = 1024
"""Sources that are translated at a time, and after which a killed command goes on."""
SUFFIXES = (".jsonl", ".tsv")


@dataclass(frozen=True)
class DistilledPairs:
    """What was written: the training set, and the sets that the run had held out of its files."""

    path: Path
    references: int
    """Pairs of the run's own training set."""
    translations: int
    """Pairs that were added."""
    repeated: int
    """Translations that are a pair of the set already, above all those that equal their reference."""
    failed: int
    """Sources without a usable translation: longer than in training, cut off, or empty."""
    held_out: dict[str, Path]


def distill(folders: Sequence[Path], out: Path, search: Search, runtime: RuntimeOptions) -> DistilledPairs:
    """Write the training pairs of the first run, and translations of their sources by every run."""
    if out.suffix not in SUFFIXES:
        raise ConfigError(f"{out}: expected a file whose name ends in {' or '.join(SUFFIXES)}")
    store = _open_store(folders[0])
    sources, targets = (Texts(store.store, f"train.{side}") for side in SIDES)
    partial_files = [out.with_name(f"{out.name}.{number}.partial") for number in range(1, len(folders) + 1)]
    for path in (out, *partial_files):
        check_output(path)
    for folder, path in zip(folders, partial_files, strict=True):
        _translate_all(folder, sources, path, search, runtime.with_workers_for(sources.num_bytes))
    pairs = _JoinedPairs(sources, targets, partial_files)
    held_out = {}
    for name in read_texts_manifest(store).held_out:
        held_out[name] = out.with_name(f"{out.stem}.{name}{out.suffix}")
        texts = (Texts(store.store, f"{name}.{side}") for side in SIDES)
        _write(held_out[name], (Pair(*sides) for sides in zip(*texts, strict=True)))
    _write(out, pairs.read())
    for path in partial_files:
        path.unlink()
    return DistilledPairs(out, len(sources), pairs.translations, pairs.repeated, pairs.failed, held_out)


def _open_store(folder: Path) -> Run:
    """The run that has the training pairs of a translator."""
    run = open_run(folder)
    require_task(run, run.load_config(), "translate")
    store = find_training_store(run)
    if not store.texts_manifest.exists():
        raise RunError(
            f"{folder}: has no training pairs, as an imported run; name a run that was trained first, whose sources "
            f"all the runs translate"
        )
    return store


class _JoinedPairs:
    """The references, and then the translations, each pair once."""

    def __init__(self, sources: Texts, targets: Texts, translations: Sequence[Path]):
        self._sources, self._targets, self._files = sources, targets, translations
        self.translations = self.repeated = self.failed = 0

    def read(self) -> Iterator[Pair]:
        known: set[int] = set()  # hashes: a corpus need not fit into memory
        for sides in zip(self._sources, self._targets, strict=True):
            known.add(hash(sides))
            yield Pair(*sides)
        for path in self._files:
            for source, translation in zip(self._sources, _read_translations(path), strict=True):
                if not translation:
                    self.failed += 1
                elif hash((source, translation)) in known:
                    self.repeated += 1
                else:
                    known.add(hash((source, translation)))
                    self.translations += 1
                    yield Pair(source, translation)


def _translate_all(folder: Path, sources: Texts, path: Path, search: Search, runtime: RuntimeOptions) -> None:
    """Translate what a file does not have yet, a chunk at a time."""
    run = open_run(folder)
    require_task(run, run.load_config(), "translate")
    done = _open_partial(path, _describe(run, sources, search, runtime), len(sources))
    starts = range(done, len(sources), CHUNK)
    if not starts:
        return
    max_length = run.load_config().data.max_length
    with open_chosen(folder, runtime, search) as opened, path.open("a", encoding="utf-8", newline="\n") as file:
        for start in track(starts, f"distilling {run.folder.name}", len(starts)):
            chunk = sources[start : start + CHUNK]
            file.writelines(
                f"{tsv.format_row([line])}\n" for line in _translate(opened.backend, chunk, search, max_length)
            )
            file.flush()


def _translate(translator: TranslationBackend, texts: list[str], search: Search, max_length: int) -> list[str]:
    """The translation of each text, empty where there is no usable one."""
    fits = [len(ids) < max_length for ids in translator.tokenizers.source.encode(texts)]
    candidates = iter(translator.candidates([text for text, fit in zip(texts, fits, strict=True) if fit], search))
    best = [next(candidates)[0] if fit else None for fit in fits]
    return ["" if one is None or one.truncated else one.text for one in best]


def _describe(run: Run, sources: Texts, search: Search, runtime: RuntimeOptions) -> dict[str, Any]:
    """What translations depend on: other weights or another search make others."""
    return {
        "weights": sha256(run.verify(run.best_weights())),
        "search": repr(search),
        "runtime": [runtime.quantize, runtime.engine],
        "sources": [len(sources), sources.num_bytes],
    }


def _open_partial(path: Path, description: dict[str, Any], total: int) -> int:
    """How many sources a file has translations of; what was cut short, or made otherwise, is dropped."""
    head = json.dumps(description)
    content = path.read_bytes().decode("utf-8", errors="replace") if path.exists() else ""
    first, *lines = content.split("\n")[:-1] or [""]  # what follows the last line end was cut short
    complete = lines if first == head else []
    done = total if len(complete) == total else len(complete) // CHUNK * CHUNK
    write_text(path, "".join(f"{line}\n" for line in (head, *complete[:done])))
    return done


def _read_translations(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in islice(file, 1, None):
            yield tsv.parse_row(line.removesuffix("\n"))[0]


def _write(path: Path, pairs: Iterator[Pair]) -> None:
    """Write pairs in the format of a file's suffix."""
    with atomic_write(path) as temporary:
        if path.suffix == ".jsonl":
            jsonl.write(temporary, pairs)
        else:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(_format_tsv(path, pair) for pair in pairs)


def _format_tsv(path: Path, pair: Pair) -> str:
    """A row, in which nothing is escaped, so that not every text fits."""
    if any(separator in side for side in (pair.source, pair.target) for separator in "\t\n\r"):
        raise DataError(f"{path}: a text has a tab or a line break, for which .tsv has no place; name a .jsonl file")
    return f"{pair.source}\t{pair.target}\n"
