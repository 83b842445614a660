"""Words and pairs of words, weighted by how rare they are, and a linear classifier: strong for its cost."""

import functools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.baselines.scoring import micro_f1
from regard.baselines.selection import choose_in_turn, select_labeled, spaced
from regard.errors import ConfigError, DataError
from regard.formats.labeled import LabeledText
from regard.languages import is_unspaced, split_words
from regard.languages.words import MARKS
from regard.metrics.intervals import FloatArray

MAX_WORDS = (2, 1)
"""The longest n-gram, of which the best on dev is chosen; without dev, the first."""
INVERSE_REGULARIZATIONS = (10.0, 1.0, 100.0)
"""scikit-learn's C, chosen in the same way, after the n-grams."""
MAX_CHOICE_SIZE = 20_000_000
"""Features that are not 0, times classes, up to which is chosen: some twenty seconds. Above, it is the first."""
MAX_EXAMPLES, MAX_CHARACTERS = 100_000, 20_000_000
"""Of the training texts; more are taken at even distances."""
MAX_WEIGHTS = 4_000_000
"""Features times classes: the optimizer has some thirty vectors of this size, 1 GB in all."""
MAX_STEPS = 1_000
CHUNK = 10_000
THRESHOLD = 0.5
SEPARATOR = "\x1f"
"""Between the texts of a pair; a word of its own, so that no two words beside it count as neighbors."""
_WORD = re.compile(rf"[\w{MARKS}]+")
_WORD_OR_MARK = re.compile(rf"{_WORD.pattern}|[^\w\s]|{SEPARATOR}")  # Python counts the separator among white space


@dataclass(frozen=True)
class TfidfLogisticRegression:
    """TF-IDF of words, or also of their pairs, and logistic regression; several labels: one against the rest.

    scikit-learn's TfidfVectorizer with n-grams of words or punctuation marks and logarithms of their counts, and
    LogisticRegression. benchmarks/opponents.py has what this was chosen from, on dev.
    """

    classes: tuple[str, ...]
    multi_label: bool
    num_examples: int
    """Of the training texts that were used."""
    num_texts: int
    """Of all training texts."""
    vectorizer: Any
    classifiers: Sequence[Any]
    """One for all classes, or one for each of several labels."""
    max_words: int
    """The longest n-gram."""
    inverse_regularization: float
    """scikit-learn's C."""

    @property
    def name(self) -> str:
        part = f", {self.num_examples:,} of {self.num_texts:,} texts" if self.num_examples < self.num_texts else ""
        lengths = "1 word" if self.max_words == 1 else f"1 to {self.max_words} words"
        return f"TF-IDF + logistic regression ({lengths}, C={self.inverse_regularization:g}{part})"

    @classmethod
    def fit(cls, examples: Sequence[LabeledText], dev: Sequence[LabeledText] = ()) -> "TfidfLogisticRegression":
        """Train on at most 100,000 texts and 20 million characters, evenly spaced; its settings are the best on dev.

        The order of texts changes nothing.
        """
        import_scikit_learn()
        labeled = select_labeled(examples)
        # Sorted, because sums of floating-point numbers depend on their order.
        selected = sorted(_limit_size(labeled.examples), key=lambda one: (_join_pair(one), one.labels))
        classes = tuple(sorted({label for example in selected for label in example.labels}))
        if len(classes) < 2 and not labeled.multi_label:
            raise DataError(f"all training texts have the label {classes[0]!r}; a classifier needs two labels or more")
        answers = (
            [[label in one.labels for one in selected] for label in classes]
            if labeled.multi_label
            else [[classes.index(one.labels[0]) for one in selected]]
        )
        texts = [_join_pair(example) for example in selected]
        weighted = {MAX_WORDS[0]: _weigh_words(texts, len(classes), MAX_WORDS[0])}

        def fit_one(max_words: int, c: float) -> "TfidfLogisticRegression":
            if max_words not in weighted:
                weighted[max_words] = _weigh_words(texts, len(classes), max_words)
            vectorizer, features = weighted[max_words]
            return cls(
                classes=classes,
                multi_label=labeled.multi_label,
                num_examples=len(selected),
                num_texts=len(labeled.examples),
                vectorizer=vectorizer,
                classifiers=[_fit_classifier(features, one, c) for one in answers],
                max_words=max_words,
                inverse_regularization=c,
            )

        gold = [example.labels for example in dev]
        is_chosen = dev and weighted[MAX_WORDS[0]][1].nnz * len(classes) <= MAX_CHOICE_SIZE
        score = (lambda one: micro_f1(gold, one.predict(dev))) if is_chosen else None
        return choose_in_turn(fit_one, {"max_words": MAX_WORDS, "c": INVERSE_REGULARIZATIONS}, score)

    def predict(self, examples: Sequence[LabeledText]) -> list[tuple[str, ...]]:
        chunks = (examples[start : start + CHUNK] for start in range(0, len(examples), CHUNK))
        return [labels for chunk in chunks for labels in self._predict_chunk(chunk)]

    def _predict_chunk(self, examples: Sequence[LabeledText]) -> list[tuple[str, ...]]:
        features = self.vectorizer.transform([_join_pair(example) for example in examples])
        if not self.multi_label:
            return [(self.classes[number],) for number in self.classifiers[0].predict(features)]
        columns = [_probability(classifier, features) >= THRESHOLD for classifier in self.classifiers]
        return [
            tuple(label for label, is_predicted in zip(self.classes, row, strict=True) if is_predicted)
            for row in np.stack(columns, axis=1)
        ]


def import_scikit_learn() -> Any:
    """The scikit-learn library, which is an optional extra."""
    try:
        import sklearn
    except ImportError:
        raise ConfigError(
            "scikit-learn is not installed; in Regard's source folder: pip install '.[baselines]'"
        ) from None
    return sklearn


def split_lowercase(text: str, pattern: re.Pattern[str] = _WORD) -> list[str]:
    """The words of a text in lower case, without punctuation unless the pattern finds it, too."""
    return [word for run in pattern.findall(text.lower()) for word in (split_words(run) if is_unspaced(run) else [run])]


def split_ngrams(text: str, max_words: int = MAX_WORDS[0]) -> list[str]:
    """The words and punctuation marks of a text in lower case, and its n-grams of up to so many."""
    words = split_lowercase(text, _WORD_OR_MARK)
    longer = (words[i : i + size] for size in range(2, max_words + 1) for i in range(len(words) - size + 1))
    return [*words, *map(" ".join, longer)]


def _weigh_words(texts: Sequence[str], num_classes: int, max_words: int) -> tuple[Any, Any]:
    """The vectorizer of texts, and their features."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not any(split_ngrams(text, 1) for text in texts):
        raise DataError("the training texts have no words; expected letters, digits or marks")
    vectorizer = TfidfVectorizer(
        analyzer=functools.partial(split_ngrams, max_words=max_words),
        max_features=max(1, MAX_WEIGHTS // num_classes),
        sublinear_tf=True,
    )
    return vectorizer, vectorizer.fit_transform(texts)


def _fit_classifier(features: Any, answers: Sequence[int], inverse_regularization: float) -> Any:
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression

    if len(set(answers)) == 1:  # a label that all texts have
        return DummyClassifier(strategy="most_frequent").fit(features, answers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an optimizer that has used all its steps is a baseline as well
        return LogisticRegression(C=inverse_regularization, max_iter=MAX_STEPS).fit(features, answers)


def _probability(classifier: Any, features: Any) -> FloatArray:
    """Of the answer True, for each text."""
    return np.asarray(classifier.predict_proba(features)[:, list(classifier.classes_).index(True)])


def _limit_size(examples: Sequence[LabeledText]) -> list[LabeledText]:
    num_characters = sum(len(example.text) + len(example.text_pair or "") for example in examples)
    count = min(len(examples), MAX_EXAMPLES)
    if num_characters > MAX_CHARACTERS:
        count = min(count, max(1, len(examples) * MAX_CHARACTERS // num_characters))
    return spaced(examples, count)


def _join_pair(example: LabeledText) -> str:
    return example.text if example.text_pair is None else f"{example.text} {SEPARATOR} {example.text_pair}"
