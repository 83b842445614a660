"""What a search needs, and what it gives."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Stepper(Protocol):
    """One more token for each row of a batch that sentences enter, in order, and leave. It remembers their past."""

    bos: int
    eos: int
    source_lengths: Tensor
    """How long the source of each of the N sentences is, waiting ones included (N,)."""
    max_output_length: int
    """The longest output that the model has places for."""
    global_indices: Tensor
    """Which sentence of the whole job each is (N,): what is random must not depend on its neighbours."""

    def admit(self, rows_per_sentence: int) -> int:
        """Let waiting sentences in, so many rows each, below those that are there, if it pays: how many came.

        Some come whenever nobody is left inside and somebody waits.
        """
        ...

    def step(self, last_tokens: Tensor) -> Tensor:
        """The last token of each row (R,) -> scores of the next one (R, V): log-probabilities but for a constant."""
        ...

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A candidate output. Its score is the log-probability over length^α, eos counted; nan if nobody asked for it."""

    ids: tuple[int, ...]
    score: float


class Search(Protocol):
    """A way to choose the output."""

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        """The best hypotheses of each of the stepper's N sentences, best first."""
        ...


def compact_rows(finished: Tensor) -> Tensor:
    """The rows that stay when some of them leave (R,), the last ones in the places of those: so few of them move."""
    count = int((~finished).sum())
    rows = torch.arange(count, device=finished.device)
    rows[finished[:count]] = (~finished[count:]).nonzero()[:, 0] + count
    return rows
