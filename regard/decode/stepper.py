"""The interface between a search and a model."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Stepper(Protocol):
    """Incremental decoding of a batch: sentences are admitted in order and leave when they are finished."""

    bos: int
    eos: int
    source_lengths: Tensor
    """The source length of each of the N sentences, waiting ones included (N,)."""
    max_output_length: int
    """The longest output that the model has positions for."""
    global_indices: Tensor
    """The index of each sentence in the whole job (N,), which seeds its random numbers."""

    def admit(self, rows_per_sentence: int) -> int:
        """Add waiting sentences to the batch, after the active ones, if it is efficient. Returns how many were added.

        At least one is added if no sentence is active and any is waiting.
        """
        ...

    def step(self, last_tokens: Tensor) -> Tensor:
        """The last token of each row (R,) -> scores of the next one (R, V): log-probabilities up to a constant.

        With a shortlist, only its tokens have columns.
        """
        ...

    def tokens_at(self, columns: Tensor) -> Tensor:
        """The ids of the tokens whose scores are in these columns of the last step."""
        ...

    def select(self, rows: Tensor) -> None:
        """Continue with these rows. The rows of a sentence stay together, and their number stays the same."""
        ...

    def surface(self, ids: Sequence[int]) -> Hashable:
        """What a reader sees of an output: outputs of the same text have the same surface."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A candidate output. Its score is log-probability / length^α, eos counted; NaN if it was not computed."""

    ids: tuple[int, ...]
    score: float
    truncated: bool = False
    """Whether it was cut at the maximum length, or where it began to repeat itself; then it has no eos."""


class Search(Protocol):
    """A decoding algorithm."""

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        """The best hypotheses of each of the stepper's N sentences, best first."""
        ...


def compact_rows(finished: Tensor) -> Tensor:
    """The rows that remain (R,), the last ones moved into the gaps of finished ones, so that few rows are copied."""
    count = int((~finished).sum())
    rows = torch.arange(count, device=finished.device)
    rows[finished[:count]] = (~finished[count:]).nonzero()[:, 0] + count
    return rows
