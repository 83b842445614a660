"""The prepared data of a run: its corpora and tokenizers, opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.config import Config
from regard.data.batch import Batches, TranslationCollator
from regard.data.store import Corpus, open_corpus
from regard.data.tokenizer import Tokenizers
from regard.errors import RunError
from regard.jobs.load import load_tokenizers
from regard.run import Run
from regard.training.loop import Step


@dataclass(frozen=True)
class TrainingData:
    """What a run is trained, validated and tested on."""

    train: Corpus
    dev: Corpus
    test: Corpus | None
    tokenizers: Tokenizers
    notes: tuple[str, ...]
    """What preparing the data reported."""
    held_out: tuple[str, ...] = ()
    """The sets that were held out of the training files."""


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


def open_training_data(run: Run, config: Config) -> TrainingData:
    """Open data that `regard.jobs.train.prepare` has written; the texts and tokens themselves are memory-mapped."""
    tokenizers = load_tokenizers(run, config)
    texts, tokens = read_texts_manifest(run), run.read_json(run.tokens_manifest, TokensManifest)
    corpora = {name: open_corpus(run.store, name, tokenizers) for name in texts.sets}
    if missing := {"train", "dev"} - corpora.keys():
        raise RunError(f"{run.texts_manifest}: damaged: it names no {missing.pop()} set. Train again with --overwrite.")
    notes = (*texts.notes, *tokens.notes)
    return TrainingData(corpora["train"], corpora["dev"], corpora.get("test"), tokenizers, notes, texts.held_out)


def read_texts_manifest(run: Run) -> TextsManifest:
    """What store/texts.json says of the texts beside it."""
    return run.read_json(run.texts_manifest, TextsManifest)


def build_batches(config: Config, data: TrainingData) -> Batches:
    """The batches of a run; their order depends on its seed alone."""
    return Batches(
        data.train,
        TranslationCollator(data.tokenizers, config.data.subword_regularization, config.data.max_length),
        max_tokens=config.train.batch_tokens,
        max_length=config.data.max_length,
        seed=config.train.seed,
        concat_augment=config.data.concat_augment,
    )


def count_epoch_batches(run: Run, steps: Sequence[Step]) -> int:
    """Batches of an epoch: as the data has them or, where a run has no data, as many as its longest epoch had.

    A run may end before its first epoch does, so its log alone does not tell.
    """
    longest = max((step.data_position.batch for step in steps), default=1)
    if not (run.config.exists() and run.tokens_manifest.exists()):
        return max(1, longest)
    config = run.load_config()
    return max(1, longest, build_batches(config, open_training_data(run, config)).count_batches())


def find_training_store(run: Run) -> Run:
    """The run that has the training pairs: this one, or the one it was pruned from."""
    init_from = run.load_config().train.init_from
    if run.tokens_manifest.exists() or not init_from:
        return run
    return Run(Path(init_from)) if Run(Path(init_from)).tokens_manifest.exists() else run
