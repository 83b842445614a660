"""Precision, recall and F1 of every class, label or type of spans, where there is something to compute them from."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Part = TypeVar("Part", bound=Hashable)


@dataclass(frozen=True)
class PartScores:
    """How well one class, label or type is predicted, in percent; a quotient of nothing is not known, and not 0."""

    name: str
    right: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float | None:
        """The share of predictions that are right; None if there are none."""
        return 100 * self.right / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """The share of gold that is predicted; None if there is none."""
        return 100 * self.right / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """2 · right / (gold + predicted); None if there are neither."""
        return 200 * self.right / (self.gold + self.predicted) if self.gold + self.predicted else None

    def as_dict(self) -> dict[str, float | None]:
        """The scores and the counts, None where a score is not known."""
        scores = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**scores, "gold": self.gold, "predicted": self.predicted}


def score_parts(
    gold: Sequence[Collection[Part]], predicted: Sequence[Collection[Part]], name_of: Callable[[Part], str] = str
) -> tuple[PartScores, ...]:
    """The scores of every name that occurs in gold or in the predictions of examples, in alphabetical order."""
    right: Counter[str] = Counter()
    in_gold: Counter[str] = Counter()
    in_predicted: Counter[str] = Counter()
    for one, other in zip(gold, predicted, strict=True):
        in_gold.update(map(name_of, one))
        in_predicted.update(map(name_of, other))
        right.update(map(name_of, {*one} & {*other}))
    names = sorted(in_gold | in_predicted)
    return tuple(PartScores(name, right[name], in_gold[name], in_predicted[name]) for name in names)
