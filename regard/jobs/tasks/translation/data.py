"""The prepared data of a translator: its corpora and tokenizers, opened."""

from dataclasses import dataclass

import numpy as np

from regard.config import Config
from regard.data.batch import Batches, Collator, TranslationCollator
from regard.data.both_directions import open_both_directions
from regard.data.store import Corpus, open_corpus
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.errors import DataError
from regard.jobs.load import load_tokenizers
from regard.jobs.tasks.task import TrainingData
from regard.jobs.train.training_data import open_sets, read_notes, read_texts_manifest
from regard.run import Run
from regard.tasks.translate.target_denoising import TargetDenoising


@dataclass(frozen=True)
class TranslationData(TrainingData):
    """Pairs of sentences, and the tokenizers of both sides."""

    tokenizers: Tokenizers
    trained_on: Corpus
    """The training set, or its pairs in both directions."""

    @property
    def vocab_size(self) -> int:
        return self.tokenizers.target.vocab_size

    @property
    def output_size(self) -> int:
        return self.vocab_size


def open_training_data(run: Run, config: Config) -> TranslationData:
    """Open data that `regard.jobs.tasks.translation.prepare` has written; texts and tokens are memory-mapped."""
    tokenizers = load_tokenizers(run, config)
    corpora = open_sets(run, lambda name: open_corpus(run.store, name, tokenizers))
    held_out = read_texts_manifest(run).held_out
    train = corpora["train"]
    trained_on = open_both_directions(run.store, train, tokenizers) if config.data.both_directions else train
    notes = read_notes(run)
    return TranslationData(train, corpora["dev"], corpora.get("test"), notes, held_out, tokenizers, trained_on)


def build_batches(config: Config, data: TranslationData) -> Batches:
    """The batches of a run; their order depends on its seed alone."""
    c = config.data
    sampled = TranslationCollator(data.tokenizers, c.subword_regularization, c.max_length)
    return Batches(
        data.trained_on,
        _add_denoising(sampled, config, data.tokenizers),
        max_tokens=config.train.batch_tokens,
        max_length=c.max_length,
        seed=config.train.seed,
        concat_augment=c.concat_augment,
        curriculum_epochs=c.curriculum_epochs,
        early_collator=_add_denoising(TranslationCollator(data.tokenizers), config, data.tokenizers),
        early_until=c.subword_regularization_start,
    )


def _add_denoising(collator: Collator, config: Config, tokenizers: Tokenizers) -> Collator:
    """The collator, with denoising of targets where the settings ask for it."""
    if not config.data.denoise_targets:
        return collator
    tokenizer = SentencePieceText(tokenizers.target)
    if tokenizer.mask_id is None:
        raise DataError(
            f"the vocabulary has no token {MASK_TOKEN}, which data.denoise_targets needs; leave out --from, so that a "
            f"tokenizer is trained with it"
        )
    starts_word = np.array(tokenizer.starts_word(range(tokenizer.vocab_size)))
    num_tags = int(config.data.both_directions)
    return TargetDenoising(collator, config.data.denoise_targets, tokenizer.mask_id, starts_word, num_tags)
