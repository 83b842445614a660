"""Texts as bags of words, compared by cosine: how similar they are without knowing what any word means."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from regard.baselines.tfidf import split_lowercase

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class WordOverlap:
    """The words that two texts have in common, divided by the geometric mean of how many each has."""

    name: str = "words in common"

    def embed(self, texts: Sequence[str]) -> "csr_matrix":
        return _stack_words([dict.fromkeys(split_lowercase(text), 1.0) for text in texts])


@dataclass(frozen=True)
class TfidfCosine:
    """Words weighted by (1 + ln count) · (ln((1 + N) / (1 + texts that have the word)) + 1).

    scikit-learn's TfidfVectorizer with `sublinear_tf`. It leaves out words that no training text has; here they count,
    as the rarest of all, unless `known_words_only`.
    """

    num_texts: int
    document_frequencies: Mapping[str, int] = field(repr=False)
    known_words_only: bool = False
    fitted_on: str = ""
    """Where these are other texts than those of training."""

    @property
    def name(self) -> str:
        fitted_on = f", fitted on {self.fitted_on}" if self.fitted_on else ""
        return f"TF-IDF cosine{', known words only' if self.known_words_only else ''}{fitted_on}"

    @classmethod
    def fit(cls, texts: Iterable[str], known_words_only: bool = False) -> Self:
        """Count in how many of these texts each word occurs."""
        frequencies: Counter[str] = Counter()
        num_texts = 0
        for text in texts:
            frequencies.update(set(split_lowercase(text)))
            num_texts += 1
        return cls(num_texts, frequencies, known_words_only)

    def embed(self, texts: Sequence[str]) -> "csr_matrix":
        return _stack_words([self._weigh(Counter(split_lowercase(text))) for text in texts])

    def _weigh(self, counts: Mapping[str, int]) -> dict[str, float]:
        return {
            word: (1 + math.log(count)) * (math.log((1 + self.num_texts) / (1 + frequency)) + 1)
            for word, count in counts.items()
            if (frequency := self.document_frequencies.get(word, 0)) or not self.known_words_only
        }


def _stack_words(rows: Sequence[Mapping[str, float]]) -> "csr_matrix":
    """Weights of words as vectors of length 1, or 0 where there is no word: (N, words)."""
    from scipy.sparse import csr_matrix  # slow to import

    columns: dict[str, int] = {}
    indices = [columns.setdefault(word, len(columns)) for row in rows for word in row]
    norms = [math.sqrt(sum(weight * weight for weight in row.values())) for row in rows]
    values = [weight / norm for row, norm in zip(rows, norms, strict=True) for weight in row.values()]
    starts = np.cumsum([0, *map(len, rows)])
    return csr_matrix((values, indices, starts), shape=(len(rows), max(1, len(columns))))
