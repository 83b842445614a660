"""Cheap opponents that are shown beside every score: what a model must beat to be of use.

Each is fitted on training data; a setting may be chosen on dev, as the weights of a model are, and nothing is chosen on
test. Those of texts and words have `fit` and `predict`; those of language models count bits, and those of embedding
models embed.
"""

from collections.abc import Callable, Sequence

from regard.baselines.bag_of_words import TfidfCosine, WordOverlap
from regard.baselines.byte_ngram import ByteNGram
from regard.baselines.comparison import (
    Opponent,
    OpponentPredictions,
    OpponentResult,
    compare_bits,
    compare_labels,
    compare_sums,
    compare_tags,
    predict_by_opponents,
)
from regard.baselines.crf import ConditionalRandomField
from regard.baselines.language import score_bits, score_bz2
from regard.baselines.majority import MajorityClass, MajorityTag
from regard.baselines.tfidf import TfidfLogisticRegression
from regard.formats.labeled import LabeledText, TaggedSentence

LABEL_OPPONENTS: dict[str, Callable[[Sequence[LabeledText], Sequence[LabeledText]], Opponent[LabeledText]]] = {
    "most frequent label": MajorityClass.fit,
    "TF-IDF + logistic regression": TfidfLogisticRegression.fit,
}
TAG_OPPONENTS: dict[str, Callable[[Sequence[TaggedSentence], Sequence[TaggedSentence]], Opponent[TaggedSentence]]] = {
    "most frequent tag of each word": MajorityTag.fit,
    "conditional random field": ConditionalRandomField.fit,
}

__all__ = [
    "LABEL_OPPONENTS",
    "TAG_OPPONENTS",
    "ByteNGram",
    "ConditionalRandomField",
    "MajorityClass",
    "MajorityTag",
    "Opponent",
    "OpponentPredictions",
    "OpponentResult",
    "TfidfCosine",
    "TfidfLogisticRegression",
    "WordOverlap",
    "compare_bits",
    "compare_labels",
    "compare_sums",
    "compare_tags",
    "predict_by_opponents",
    "score_bits",
    "score_bz2",
]
