"""Counts of examples whose sums give a score, of a whole set and of many drawn from it.

Counts of classes are one cell of a confusion matrix for each example, so only the number of the cell is stored: a
matrix of 77 classes has 5,929 cells.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Measure = Callable[[FloatArray], FloatArray]
"""Sums (…, counts) -> scores (…)."""
MAX_ELEMENTS = 1 << 22
"""Of sums that are in memory at a time."""


class ExampleCounts(Protocol):
    """The counts of examples."""

    @property
    def sizes(self) -> FloatArray:
        """How much each example weighs: (n,)."""
        ...

    @property
    def num_counts(self) -> int: ...

    def total(self) -> FloatArray: ...

    def weighted_sums(self, weights: FloatArray) -> FloatArray:
        """The sums of weighted examples: (draws, n) -> (draws, counts)."""
        ...

    def leave_one_out(self, measure: Measure) -> FloatArray:
        """The scores without each example: (n,)."""
        ...


@dataclass(frozen=True)
class CellCounts:
    """Examples of which each counts once, in one cell."""

    cells: NDArray[np.int64]
    """The cell of each example: (n,)."""
    num_counts: int

    @property
    def sizes(self) -> FloatArray:
        return np.ones(len(self.cells))

    def total(self) -> FloatArray:
        return np.bincount(self.cells, minlength=self.num_counts).astype(np.float64)

    def weighted_sums(self, weights: FloatArray) -> FloatArray:
        return np.stack([np.bincount(self.cells, row, self.num_counts) for row in weights])

    def leave_one_out(self, measure: Measure) -> FloatArray:
        """One score for each cell that occurs: all examples of a cell leave the same counts."""
        used, example_cells = np.unique(self.cells, return_inverse=True)
        total = self.total()
        scores = []
        for chunk in _chunks(len(used), self.num_counts):
            sums = np.tile(total, (len(used[chunk]), 1))
            sums[np.arange(len(sums)), used[chunk]] -= 1
            scores.append(measure(sums))
        return np.concatenate(scores)[example_cells]


@dataclass(frozen=True)
class TableCounts:
    """Examples with several counts each: (n, counts)."""

    table: FloatArray
    sizes: FloatArray

    @property
    def num_counts(self) -> int:
        return self.table.shape[1]

    def total(self) -> FloatArray:
        return np.asarray(self.table.sum(axis=0))

    def weighted_sums(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ self.table)

    def leave_one_out(self, measure: Measure) -> FloatArray:
        return measure(self.total() - self.table)


@dataclass(frozen=True)
class CountedScore:
    """A score of a system on a set, as a function of what each of the examples counts: so that two can be paired."""

    name: str
    counts: ExampleCounts
    measure: Measure
    examples: Sequence[str]
    """What was predicted for; only systems with the same examples can be paired."""
    answers: Sequence[Hashable]
    """What was predicted."""
    units: str
    """What the examples are: texts, sentences, documents …"""

    @property
    def value(self) -> float:
        return float(self.measure(self.counts.total()))

    @property
    def num_examples(self) -> int:
        return len(self.examples)

    def resample(self, weights: NDArray[np.generic]) -> FloatArray:
        """The scores of drawn sets: (draws, n) -> (draws,)."""
        return score_draws(self.counts, weights, self.measure)

    def count_differing(self, other: "CountedScore") -> int:
        """The examples with different answers."""
        return sum(one != two for one, two in zip(self.answers, other.answers, strict=True))


def score_draws(counts: ExampleCounts, weights: NDArray[np.generic], measure: Measure) -> FloatArray:
    """The scores of drawn sets, in which examples have these weights: (draws, n) -> (draws,)."""
    rows = max(counts.num_counts, len(counts.sizes))
    return np.concatenate(
        [measure(counts.weighted_sums(weights[chunk].astype(np.float64))) for chunk in _chunks(len(weights), rows)]
    )


def score_exchanged(
    first: ExampleCounts, other: ExampleCounts, draws: NDArray[np.bool_], measure: Measure
) -> FloatArray:
    """The differences between two systems whose answers are exchanged where a draw is true: (draws, n) -> (draws,)."""
    differences = []
    for chunk in _chunks(len(draws), max(first.num_counts, len(first.sizes))):
        unchanged, exchanged = (~draws[chunk]).astype(np.float64), draws[chunk].astype(np.float64)
        one = first.weighted_sums(unchanged) + other.weighted_sums(exchanged)
        two = other.weighted_sums(unchanged) + first.weighted_sums(exchanged)
        differences.append(measure(two) - measure(one))
    return np.concatenate(differences)


def _chunks(count: int, row_size: int) -> Iterator[slice]:
    size = max(1, MAX_ELEMENTS // max(1, row_size))
    return (slice(start, start + size) for start in range(0, count, size))
