"""A profile of the head of a corpus: its languages and length ratio, as a reference for the checks."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from regard.data.doctor.checks import LENGTH_SMOOTHING, blank, identical
from regard.data.doctor.language_id import identify_language
from regard.formats import Pair

LENGTH_SAMPLE_SIZE = 10_000
"""Pairs to estimate the length ratio from."""
LANGUAGE_SAMPLE_SIZE = 1_000
"""Sentences of each side, long enough to be identified, to determine its language from."""
MAX_PAIRS = 200_000
"""Pairs that are read at most."""
MIN_SAMPLE_SIZE = 20
"""Sentences or pairs without which no estimate is made."""


@dataclass(frozen=True)
class CorpusProfile:
    """What is typical of a corpus."""

    source: str
    """Label of the language of most source sentences; "" if it is unknown."""
    target: str
    length_ratio: float
    """Target characters per source character."""
    identical_fraction: float
    """Share of pairs whose sides are the same sentence."""


@dataclass
class _LanguageVotes:
    """The identified languages of the sentences of one side."""

    num_sentences: int = 0
    label_counts: Counter[str] = field(default_factory=Counter)

    def add(self, text: str) -> None:
        if self.num_sentences >= LANGUAGE_SAMPLE_SIZE:
            return
        label = identify_language(text)
        if label is not None:
            self.num_sentences += 1
            self.label_counts[label] += bool(label)

    def majority_label(self) -> str:
        """The label of four fifths of the identified sentences, if a third of all sentences were identified."""
        num_labeled = self.label_counts.total()
        if self.num_sentences < MIN_SAMPLE_SIZE or num_labeled * 3 < self.num_sentences:
            return ""
        label, count = self.label_counts.most_common(1)[0]
        return label if count * 5 >= num_labeled * 4 else ""


def profile_corpus(pairs: Iterable[Pair]) -> CorpusProfile:
    """The profile of a corpus, from as many of its first pairs as are needed."""
    source, target = _LanguageVotes(), _LanguageVotes()
    ratios: list[float] = []
    num_identical = num_pairs = 0
    for num_pairs, pair in enumerate(pairs, start=1):
        source.add(pair.source)
        target.add(pair.target)
        if len(ratios) < LENGTH_SAMPLE_SIZE and not blank(pair.source, pair.target):
            ratios.append(math.log((len(pair.target) + LENGTH_SMOOTHING) / (len(pair.source) + LENGTH_SMOOTHING)))
        num_identical += identical(pair.source, pair.target)
        is_sufficient = (
            min(source.num_sentences, target.num_sentences) >= LANGUAGE_SAMPLE_SIZE
            and len(ratios) >= LENGTH_SAMPLE_SIZE
        )
        if is_sufficient or num_pairs == MAX_PAIRS:
            break
    length_ratio = math.exp(median(ratios)) if len(ratios) >= MIN_SAMPLE_SIZE else 1.0
    return CorpusProfile(
        source.majority_label(), target.majority_label(), length_ratio, num_identical / max(1, num_pairs)
    )
