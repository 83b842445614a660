"""Cheap opponents of a causal language model: n-grams of bytes, and bz2. store/opponents.json has their bits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.baselines import ByteNGram, score_bz2
from regard.data.store import Texts
from regard.files import Finite
from regard.jobs.tasks.language.segments import cut_segments, sum_by_segment
from regard.jobs.train.training_data import read_texts_manifest
from regard.metrics import Score
from regard.progress import stage
from regard.run import Run


@dataclass(frozen=True)
class OpponentBits:
    """What opponents need for the documents of a set."""

    bits: Mapping[str, tuple[Finite, ...]] = field(default_factory=dict)
    """Of each segment, by the name of the opponent."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """Of opponents that have no bits of single segments."""


def write_opponent_bits(run: Run) -> None:
    """Fit the opponents on the training documents, and store their bits of the other sets."""
    training = list(Texts(run.store, "train.source"))
    sets = {}
    with stage("fitting baselines"):
        ngram = ByteNGram.choose(training, list(Texts(run.store, "dev.source")))
        for name in read_texts_manifest(run).sets:
            if name != "train":
                texts = list(Texts(run.store, f"{name}.source"))
                bz2 = score_bz2(training, texts)
                scores = {"bz2": {"name": bz2.name, **bz2.as_dict()}}
                sets[name] = {"bits": {ngram.name: _segment_bits(ngram, texts)}, "scores": scores}
    run.write_json(run.opponents, sets)


def read_opponent_bits(run: Run, name: str) -> OpponentBits:
    """What `write_opponent_bits` has written of a set."""
    if not run.opponents.exists():
        return OpponentBits()
    return run.read_json(run.opponents, dict[str, OpponentBits]).get(name, OpponentBits())


def fit_opponent_bits(run: Run, texts: Sequence[str]) -> OpponentBits:
    """Fit the opponents on the training documents: their bits of documents that are in no stored set."""
    training = list(Texts(run.store, "train.source"))
    with stage("fitting baselines"):
        ngram = ByteNGram.choose(training, list(Texts(run.store, "dev.source")))
        bits = {ngram.name: tuple(_segment_bits(ngram, texts))}
        return OpponentBits(bits, {"bz2": score_bz2(training, texts)})


def _segment_bits(ngram: ByteNGram, texts: Sequence[str]) -> list[float]:
    bits = [ngram.byte_bits(text) for text in texts]
    sums = sum_by_segment(cut_segments(texts), [np.arange(len(row)) for row in bits], bits)
    return [float(value) for value in sums]
