"""The prepared data of a translator: its corpora and tokenizers, opened."""

from dataclasses import dataclass

from regard.config import Config
from regard.data.batch import Batches, TranslationCollator
from regard.data.both_directions import open_both_directions
from regard.data.store import Corpus, open_corpus
from regard.data.tokenizers.tokenizer import Tokenizers
from regard.jobs.load import load_tokenizers
from regard.jobs.tasks.task import TrainingData
from regard.jobs.train.training_data import open_sets, read_notes, read_texts_manifest
from regard.run import Run


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
    return Batches(
        data.trained_on,
        TranslationCollator(data.tokenizers, config.data.subword_regularization, config.data.max_length),
        max_tokens=config.train.batch_tokens,
        max_length=config.data.max_length,
        seed=config.train.seed,
        concat_augment=config.data.concat_augment,
        curriculum_epochs=config.data.curriculum_epochs,
        early_collator=TranslationCollator(data.tokenizers),
        early_until=config.data.subword_regularization_start,
    )
