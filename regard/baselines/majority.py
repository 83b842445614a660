"""The cheapest baselines: the most frequent answer, of all texts or of each word."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from regard.baselines.selection import select_labeled
from regard.data.tag_schemes import OUTSIDE, PLAIN, detect_scheme
from regard.errors import DataError
from regard.formats.labeled import LabeledText, TaggedSentence


@dataclass(frozen=True)
class MajorityClass:
    """Predicts the most frequent label of the training texts, or their most frequent set of labels."""

    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        return "most frequent label"

    @classmethod
    def fit(cls, examples: Sequence[LabeledText], multi_label: bool | None = None) -> Self:
        """Of several sets that are equally frequent, the first in alphabetical order."""
        counts = Counter(tuple(sorted(example.labels)) for example in select_labeled(examples, multi_label).examples)
        return cls(_most_frequent(counts))

    def predict(self, examples: Sequence[LabeledText]) -> list[tuple[str, ...]]:
        return [self.labels] * len(examples)


@dataclass(frozen=True)
class MajorityTag:
    """Predicts for each word its most frequent tag in training, without regard to case and to other words."""

    tags: Mapping[str, str]
    """Of each known word, in lower case."""
    unknown_tag: str

    @property
    def name(self) -> str:
        return "most frequent tag of each word"

    @classmethod
    def fit(cls, sentences: Sequence[TaggedSentence]) -> Self:
        """Unknown words are outside of all spans; where tags mark no spans, they have the most frequent tag."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                counts[word.lower()][tag] += 1
        if not counts:
            raise DataError("no tagged words to learn from; expected at least one sentence")
        unknown_tag = OUTSIDE
        if detect_scheme(sentence.tags for sentence in sentences).name == PLAIN:
            unknown_tag = _most_frequent_tag(sum(counts.values(), Counter()))
        return cls({word: _most_frequent_tag(tags) for word, tags in counts.items()}, unknown_tag)

    def predict(self, sentences: Sequence[TaggedSentence]) -> list[tuple[str, ...]]:
        return [tuple(self.tags.get(word.lower(), self.unknown_tag) for word in one.words) for one in sentences]


def _most_frequent(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    return min(counts, key=lambda labels: (-counts[labels], labels))


def _most_frequent_tag(counts: Counter[str]) -> str:
    """Of equally frequent tags: none, then the first in alphabetical order."""
    return min(counts, key=lambda tag: (-counts[tag], tag != OUTSIDE, tag))
