"""The prepared data of a run, as it lies in its folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.data.store import Corpus
from regard.errors import RunError
from regard.run import Run


@dataclass(frozen=True)
class TextsManifest:
    """store/texts.json."""

    sets: tuple[Literal["train", "dev", "test"], ...]
    notes: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class TokensManifest:
    """store/tokens.json."""

    notes: tuple[str, ...] = ()


def read_texts_manifest(run: Run) -> TextsManifest:
    """What store/texts.json says of the texts beside it."""
    return run.read_json(run.texts_manifest, TextsManifest)


def open_sets(run: Run, open_set: Callable[[str], Corpus]) -> dict[str, Corpus]:
    """The stored sets of a run by name: train, dev and, if there is one, test."""
    corpora: dict[str, Corpus] = {name: open_set(name) for name in read_texts_manifest(run).sets}
    if missing := {"train", "dev"} - corpora.keys():
        raise RunError(f"{run.texts_manifest}: damaged: it names no {missing.pop()} set. Train again with --overwrite.")
    return corpora


def read_notes(run: Run) -> tuple[str, ...]:
    """What preparing the data of a run reported."""
    return (*read_texts_manifest(run).notes, *run.read_json(run.tokens_manifest, TokensManifest).notes)


def find_training_store(run: Run) -> Run:
    """The run that has the training examples: this one, or the one it was pruned from."""
    init_from = run.load_config().train.init_from
    if run.tokens_manifest.exists() or not init_from:
        return run
    return Run(Path(init_from)) if Run(Path(init_from)).tokens_manifest.exists() else run
