"""The tags of words, as the training data has them, and which may follow which."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.store import Array
from regard.data.tag_schemes import OUTSIDE, PLAIN, TaggedSpan, TagScheme, detect_scheme, find_spans, split_tag, to_bio
from regard.data.tokenizers.text_tokenizer import EncodedWords
from regard.errors import DataError
from regard.files import Count
from regard.tasks.label_statistics import frequency_entropy


@dataclass(frozen=True)
class TagSet:
    """Tags in alphabetical order, and how many words of the training data have each. JSON by `asdict`.

    Tags that mark spans are converted to BIO, with B- and I- of every type.
    """

    tags: tuple[str, ...]
    counts: tuple[Count, ...]
    scheme: str
    """BIO or plain."""

    def __post_init__(self) -> None:
        if list(self.tags) != sorted(set(self.tags)) or len(self.tags) != len(self.counts) or not self.tags:
            raise ValueError("tags must be in alphabetical order, each once and with its count")
        if self.scheme not in ("BIO", PLAIN) or (self.scheme == "BIO" and OUTSIDE not in self.tags):
            raise ValueError(f"the scheme of tags must be BIO, with {OUTSIDE} among the tags, or {PLAIN}")

    @classmethod
    def of(cls, tags_of_sentences: Iterable[Sequence[str]]) -> "TagSet":
        """The tags of the sentences of the training data."""
        sentences = list(tags_of_sentences)
        scheme = detect_scheme(sentences)
        counts = Counter(tag for tags in sentences for tag in to_bio(tags, scheme))
        if not counts:
            raise DataError("no word of the training data has a tag; expected one for each word")
        if len(counts) == 1:
            raise DataError(
                f"all words of the training data have the tag '{min(counts)}'; expected at least two different tags"
            )
        if scheme.name == PLAIN:
            return cls._of_counts(counts, counts, PLAIN)
        types = {split_tag(tag)[1] for tag in counts} - {""}
        return cls._of_counts({OUTSIDE, *(f"{prefix}-{name}" for name in types for prefix in "BI")}, counts, "BIO")

    @classmethod
    def _of_counts(cls, tags: Iterable[str], counts: Counter[str], scheme: str) -> "TagSet":
        names = sorted(tags)
        return cls(tuple(names), tuple(counts[name] for name in names), scheme)

    @property
    def default(self) -> str:
        """The tag of a word that has no token: O, or the most frequent of plain tags."""
        return OUTSIDE if self.scheme != PLAIN else self.tags[int(np.argmax(self.counts))]

    @property
    def entropy(self) -> float:
        """The loss per word, in nats, of always predicting the frequencies of the tags."""
        return frequency_entropy(self.counts)

    @property
    def starts(self) -> Array:
        """Which tags the first word may have: (K,)."""
        return np.array([self._scheme.allows(OUTSIDE, tag) for tag in self.tags])

    @property
    def transitions(self) -> Array:
        """Which tag (columns) may follow which (rows): (K, K)."""
        return np.array([[self._scheme.allows(previous, tag) for tag in self.tags] for previous in self.tags])

    def encode(self, tags: Sequence[str]) -> list[int]:
        """The numbers of the tags of a sentence, which may have any scheme."""
        numbers = {tag: number for number, tag in enumerate(self.tags)}
        converted = to_bio(tags, self._scheme)
        if unknown := sorted({*converted} - numbers.keys()):
            raise DataError(
                f"the tag '{unknown[0]}' does not occur in the training data; "
                f"correct it, or add sentences with this tag to the training data"
            )
        return [numbers[tag] for tag in converted]

    def knows(self, tags: Sequence[str]) -> bool:
        """Whether the training data has all tags of a sentence."""
        return {*to_bio(tags, self._scheme)} <= {*self.tags}

    def make_targets(self, encoded: EncodedWords, tags: Sequence[str]) -> list[int]:
        """For each token of a sentence: 0, or 1 + the number of the tag of the word that begins with it."""
        targets = [0] * len(encoded.ids)
        for position, number in zip(encoded.first_tokens, self.encode(tags), strict=True):
            if position >= 0:
                targets[position] = number + 1
        return targets

    def find_spans(self, tags: Sequence[str]) -> list[TaggedSpan]:
        """The spans of a sentence; every word is one where tags are plain."""
        if self.scheme == PLAIN:
            return [TaggedSpan(tag, i, i + 1) for i, tag in enumerate(tags)]
        return find_spans(tags)

    @property
    def _scheme(self) -> TagScheme:
        return TagScheme(self.scheme)
