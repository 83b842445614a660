"""The cheapest baselines: the most frequent answer, of all texts or of each word."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from regard.baselines.scoring import tag_f1
from regard.baselines.selection import choose_in_turn, select_labeled
from regard.data.tag_schemes import OUTSIDE, PLAIN, detect_scheme
from regard.errors import DataError
from regard.formats.labeled import LabeledText, TaggedSentence

KEYS: Mapping[str, Callable[[str], str]] = MappingProxyType({"in lower case": str.lower, "as it is written": str})
"""Which words are the same, of which the best on dev is chosen; without dev, the first."""


@dataclass(frozen=True)
class MajorityClass:
    """Predicts the most frequent label of the training texts, or their most frequent set of labels."""

    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        return "most frequent label"

    @classmethod
    def fit(cls, examples: Sequence[LabeledText], dev: Sequence[LabeledText] = ()) -> Self:
        """Of several sets that are equally frequent, the first in alphabetical order; nothing is chosen on dev."""
        counts = Counter(tuple(sorted(example.labels)) for example in select_labeled(examples).examples)
        return cls(_most_frequent(counts))

    def predict(self, examples: Sequence[LabeledText]) -> list[tuple[str, ...]]:
        return [self.labels] * len(examples)


@dataclass(frozen=True)
class MajorityTag:
    """Predicts for each word its most frequent tag in training, without regard to other words.

    Of equally frequent tags, the one that all words have most. benchmarks/opponents.py has what this was chosen from.
    """

    tags: Mapping[str, str]
    """Of each known word, as the key has it."""
    unknown_tag: str
    key: str
    """One of KEYS."""

    @property
    def name(self) -> str:
        return f"most frequent tag of each word ({self.key})"

    @classmethod
    def fit(cls, sentences: Sequence[TaggedSentence], dev: Sequence[TaggedSentence] = ()) -> Self:
        """Unknown words are outside of all spans; where tags mark no spans, they have the most frequent tag.

        Whether case counts is chosen on dev.
        """
        gold = [sentence.tags for sentence in dev]
        score = (lambda one: tag_f1(gold, one.predict(dev))) if dev else None
        return choose_in_turn(lambda key: cls.fit_key(sentences, key), {"key": list(KEYS)}, score)

    @classmethod
    def fit_key(cls, sentences: Sequence[TaggedSentence], key: str) -> Self:
        """Words are the same whose keys are."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for sentence in sentences:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                counts[KEYS[key](word)][tag] += 1
        if not counts:
            raise DataError("no tagged words to learn from; expected at least one sentence")
        totals = Counter(tag for sentence in sentences for tag in sentence.tags)
        is_plain = detect_scheme(sentence.tags for sentence in sentences).name == PLAIN
        tags = {word: _most_frequent_tag(own, totals) for word, own in counts.items()}
        return cls(tags, _most_frequent_tag(totals, totals) if is_plain else OUTSIDE, key)

    def predict(self, sentences: Sequence[TaggedSentence]) -> list[tuple[str, ...]]:
        get_key = KEYS[self.key]
        return [tuple(self.tags.get(get_key(word), self.unknown_tag) for word in one.words) for one in sentences]


def _most_frequent(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    return min(counts, key=lambda labels: (-counts[labels], labels))


def _most_frequent_tag(counts: Counter[str], totals: Counter[str]) -> str:
    """Of equally frequent tags: the one that all words have most, then the first in alphabetical order."""
    return min(counts, key=lambda tag: (-counts[tag], -totals[tag], tag))
