"""The prepared data of a run: its corpora and tokenizers, opened."""

from dataclasses import dataclass
from pathlib import Path

from regard.config import Config
from regard.data.store import Corpus, open_corpus
from regard.data.tokenizer import Tokenizers
from regard.jobs.load import load_tokenizers
from regard.run import Run


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


def open_training_data(run: Run, config: Config) -> TrainingData:
    """Open data that `regard.jobs.train.prepare` has written; the texts and tokens themselves are memory-mapped."""
    tokenizers = load_tokenizers(run, config)
    manifests = [run.read_json(path) for path in (run.texts_manifest, run.tokens_manifest)]
    corpora = {name: open_corpus(run.store, name, tokenizers) for name in manifests[0]["sets"]}
    notes = tuple(note for manifest in manifests for note in manifest["notes"])
    held_out = tuple(manifests[0].get("held_out", ()))
    return TrainingData(corpora["train"], corpora["dev"], corpora.get("test"), tokenizers, notes, held_out)


def find_training_store(run: Run) -> Run:
    """The run that has the training pairs: this one, or the one it was pruned from."""
    init_from = run.load_config().train.init_from
    if run.tokens_manifest.exists() or not init_from:
        return run
    return Run(Path(init_from)) if Run(Path(init_from)).tokens_manifest.exists() else run
