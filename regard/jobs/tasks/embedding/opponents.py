"""Cheap opponents of an embedding model: bags of words. store/opponents.json has what they make of dev and test."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from regard.baselines import TfidfCosine, WordOverlap
from regard.data.store import Texts
from regard.files import Finite
from regard.formats.related import RelatedTexts
from regard.jobs.tasks.embedding.evaluation import OpponentValues, choose_scoring
from regard.jobs.tasks.opponents import read_stored_pairs
from regard.jobs.train.training_data import read_texts_manifest
from regard.progress import stage
from regard.run import Run
from regard.tasks.embed.embedder import Embedder
from regard.tasks.embed.examples import restore_example
from regard.tasks.stored_parts import split_parts

StoredValues = dict[str, dict[str, tuple[Finite, ...]]]
"""By the name of the set, and that of the opponent."""
Opponent = WordOverlap | TfidfCosine
STATIC_VECTORS = "mean of its own token embeddings"


@dataclass(frozen=True)
class StaticVectors:
    """The embedding table of a model alone: what its layers add to it is the difference."""

    embedder: Embedder
    name: str = STATIC_VECTORS

    def embed(self, texts: Sequence[str]) -> Tensor:
        return self.embedder.embed_tokens(texts)


def fit_opponents(training_texts: Sequence[str]) -> list[Opponent]:
    """Opponents that know how frequent words are in these texts."""
    tfidf = TfidfCosine.fit(training_texts)
    return [
        WordOverlap(),
        TfidfCosine(tfidf.num_texts, tfidf.document_frequencies, known_words_only=True),
        tfidf,
    ]


def measure_opponents(
    opponents: Sequence[Opponent | StaticVectors], examples: Sequence[RelatedTexts]
) -> OpponentValues:
    """What opponents make of each pair."""
    scoring = choose_scoring(examples)
    return {one.name: [pair.value for pair in scoring.measure(one)] for one in opponents}


def write_opponent_values(run: Run) -> None:
    """Fit the opponents on the training texts, and store what they make of the other sets."""
    with stage("fitting baselines"):
        opponents = fit_opponents(list(read_training_texts(run)))
        values = {
            name: measure_opponents(opponents, [restore_example(pair) for pair in read_stored_pairs(run, name)])
            for name in read_texts_manifest(run).sets
            if name != "train"
        }
    run.write_json(run.opponents, values)


def read_opponent_values(run: Run, name: str) -> OpponentValues:
    """What `write_opponent_values` has written of a set; nothing where there is none."""
    return run.read_json(run.opponents, StoredValues).get(name, {}) if run.opponents.exists() else {}


def measure_new_opponents(run: Run, embedder: Embedder, examples: Sequence[RelatedTexts]) -> OpponentValues:
    """What opponents make of pairs that are in no stored set.

    Where the run has no training texts, as an imported encoder, words are as frequent as they are in the pairs: a
    stronger opponent than one that has never seen them, and named apart.
    """
    static = StaticVectors(embedder)
    with stage("fitting baselines"):
        if run.texts_manifest.exists():
            return measure_opponents([*fit_opponents(list(read_training_texts(run))), static], examples)
        texts = [text for example in examples for text in (example.text, str(example.positive))]
        return measure_opponents(
            [WordOverlap(), replace(TfidfCosine.fit(texts), fitted_on="these pairs"), static], examples
        )


def read_training_texts(run: Run) -> Iterator[str]:
    """Every text of the stored training set."""
    return (text for row in Texts(run.store, "train.source") for text in split_parts(row))
