"""What a search needs, and what it gives."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


class Stepper(Protocol):
    """One more token for each of N rows. It remembers what came before; sentences may leave, rows be reordered."""

    bos: int
    eos: int
    lengths: Tensor
    """How long the source of each row is (N,)."""
    longest: int
    """The longest output that the model has places for."""
    numbers: Tensor
    """Which sentence of the whole job each row is (N,): what is random must not depend on its neighbours."""

    def step(self, last: Tensor) -> Tensor:
        """The last token of each row (N,) -> log-probabilities of the next one (N, V)."""
        ...

    def widen(self, width: int) -> None:
        """Go on with so many rows for each sentence, one below the other."""
        ...

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A candidate output. Its score is the log-probability over length^α, eos counted."""

    ids: tuple[int, ...]
    score: float


class Search(Protocol):
    """A way to choose the output."""

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        """The best hypotheses of each of the stepper's N rows, best first."""
        ...
