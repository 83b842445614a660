"""The scores of an embedding model on texts that belong together, beside those of bags of words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from regard.baselines import OpponentResult, compare_sums
from regard.errors import DataError
from regard.formats.related import RelatedTexts
from regard.metrics import Score
from regard.metrics.intervals import FloatArray
from regard.metrics.labels import LabelTest
from regard.metrics.vectors import (
    compare_correlations,
    cosines_of_rows,
    find_positives,
    reciprocal,
    score_correlations,
    score_ranks,
)

OpponentValues = Mapping[str, Sequence[float]]
"""What each opponent has for every example: a cosine, or the rank of its positive."""


class TextEmbedder(Protocol):
    """Texts -> vectors of length 1, dense or sparse."""

    def embed(self, texts: Sequence[str]) -> Any: ...


@dataclass(frozen=True)
class ScoredPair:
    """Two texts, and what a model makes of them."""

    example: RelatedTexts
    value: float
    """The cosine of the two, where their similarity is known; otherwise the rank of the positive."""
    nearest: str = ""
    """The text that is nearest to the first one, beside its positive."""


@dataclass(frozen=True)
class EmbeddingEvaluation:
    """The scores of an embedding model on a set."""

    scores: dict[str, Score]
    loss: float | None
    """None: it depends on the batches that a loss is computed in."""
    pairs: tuple[ScoredPair, ...]
    opponents: tuple[OpponentResult, ...] = ()
    opponent_values: OpponentValues | None = None
    chance: float = 0.0
    """The first score of cosines that know nothing."""

    @property
    def has_similarities(self) -> bool:
        return "spearman" in self.scores

    def describe_failure(self) -> str:
        """Why the embedding model does not work: it is not better than chance; empty if it does."""
        score = next(iter(self.scores.values()))
        if score.low is None or score.low > self.chance:
            return ""
        return (
            f"its {score.name} of {score.value:.1f} is not significantly above the {self.chance:.1f} of random vectors"
        )


class PairScoring(Protocol):
    """How the vectors of a set are scored."""

    @property
    def chance(self) -> float:
        """The expected first score of random vectors."""
        ...

    def measure(self, embedder: TextEmbedder) -> list[ScoredPair]:
        """What a model makes of each pair."""
        ...

    def score(self, values: ArrayLike) -> dict[str, Score]: ...

    def compare(self, values: FloatArray, opponents: OpponentValues) -> dict[str, dict[str, LabelTest]]:
        """Opponent -> measure -> paired test."""
        ...


class SimilarityScoring:
    """Pairs whose similarity is known: cosines should have the same order."""

    chance = 0.0

    def __init__(self, examples: Sequence[RelatedTexts]):
        self.examples = examples
        self.gold = [example.similarity for example in examples]

    def measure(self, embedder: TextEmbedder) -> list[ScoredPair]:
        vectors = embedder.embed([text for one in self.examples for text in (one.text, str(one.positive))])
        cosines = cosines_of_rows(vectors[0::2], vectors[1::2])
        return [ScoredPair(*pair) for pair in zip(self.examples, cosines.tolist(), strict=True)]

    def score(self, values: ArrayLike) -> dict[str, Score]:
        return score_correlations(values, np.asarray(self.gold, np.float64))

    def compare(self, values: FloatArray, opponents: OpponentValues) -> dict[str, dict[str, LabelTest]]:
        return compare_correlations(np.asarray(self.gold, np.float64), values, opponents)


class RetrievalScoring:
    """Pairs of a text and its positive: among all positives and hard negatives of the set, it should be the nearest."""

    def __init__(self, examples: Sequence[RelatedTexts]):
        self.examples = examples
        self.candidates = list(dict.fromkeys(text for one in examples for text in (str(one.positive), *one.negatives)))
        self._numbers = {text: number for number, text in enumerate(self.candidates)}
        positives: dict[str, list[int]] = {}
        for example in examples:
            positives.setdefault(example.text, []).append(self._numbers[str(example.positive)])
        self._excluded = [
            [
                number
                for number in (*positives[one.text], self._numbers.get(one.text, -1))
                if self._is_other(one, number)
            ]
            for one in examples
        ]

    @property
    def chance(self) -> float:
        """The mean of 1 / rank where all ranks are equally likely."""
        return float(100 * reciprocal(np.arange(1, len(self.candidates) + 1)).mean())

    def _is_other(self, example: RelatedTexts, number: int) -> bool:
        return number not in (-1, self._numbers[str(example.positive)])

    def measure(self, embedder: TextEmbedder) -> list[ScoredPair]:
        """A text itself, and the other positives that it has, are neither right nor wrong."""
        texts = [example.text for example in self.examples]
        vectors = embedder.embed([*texts, *self.candidates])
        positives = np.array([self._numbers[str(example.positive)] for example in self.examples])
        retrieved = find_positives(vectors[: len(texts)], vectors[len(texts) :], positives, self._excluded)
        rows = zip(self.examples, retrieved.ranks.tolist(), retrieved.nearest.tolist(), strict=True)
        return [ScoredPair(example, rank, self.candidates[nearest]) for example, rank, nearest in rows]

    def score(self, values: ArrayLike) -> dict[str, Score]:
        return score_ranks(np.asarray(values), len(self.candidates))

    def compare(self, values: FloatArray, opponents: OpponentValues) -> dict[str, dict[str, LabelTest]]:
        ours = 100 * reciprocal(np.asarray(values))
        of_opponents = {name: 100 * reciprocal(np.asarray(ranks)) for name, ranks in opponents.items()}
        tests = compare_sums(np.ones(len(ours)), ours, of_opponents) if of_opponents else {}
        return {name: {"mrr": test} for name, test in tests.items()}


def choose_scoring(examples: Sequence[RelatedTexts]) -> PairScoring:
    """Correlation where pairs have similarities, otherwise retrieval."""
    single = next((example for example in examples if example.positive is None), None)
    if single is not None:
        raise DataError(f"{single.location}: has single texts; expected pairs of texts to evaluate on")
    has_similarities = {example.similarity is not None for example in examples}
    if len(has_similarities) > 1:
        raise DataError("some pairs have a similarity, and others none; expected one kind of pairs")
    return SimilarityScoring(examples) if has_similarities.pop() else RetrievalScoring(examples)


def evaluate_embedder(
    embedder: TextEmbedder, examples: Sequence[RelatedTexts], opponents: OpponentValues | None = None
) -> EmbeddingEvaluation:
    """Embed the texts of pairs, and score their cosines; with opponents, also of_opponents, and paired tests."""
    scoring = choose_scoring(examples)
    pairs = scoring.measure(embedder)
    values = np.array([pair.value for pair in pairs])
    of_opponents = opponents or {}
    tests = scoring.compare(values, of_opponents)
    results = tuple(OpponentResult(name, scoring.score(of_opponents[name]), tests[name]) for name in of_opponents)
    return EmbeddingEvaluation(scoring.score(values), None, tuple(pairs), results, of_opponents, chance=scoring.chance)
