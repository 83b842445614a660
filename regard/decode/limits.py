"""Guards that are on by default: a longest output, and a stop for outputs that go round in circles.

There is no ban on repeated n-grams: it would break copying, lists and refrains.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decode.stepper import Stepper

LONGEST_CYCLE = 8


@dataclass(frozen=True)
class Limits:
    """How long an output may get, given its source."""

    factor: float = 2.0
    extra: int = 16
    rounds: int = 4
    """So many rounds of the same few tokens are a loop, if the output is longer than its source by then."""

    def caps(self, stepper: Stepper) -> Tensor:
        """The most tokens, eos included, for each source; never more than the model has places for."""
        return ((stepper.lengths * self.factor).long() + self.extra).clamp(max=stepper.longest)

    def looping(self, tokens: Tensor, taken: Tensor, lengths: Tensor) -> Tensor:
        """Which rows (R, t), of which the last `taken` are tokens, end in a loop: (R,) of bool.

        A source that repeats itself may be echoed.
        """
        longer = taken > lengths
        if not bool(longer.any()):
            return longer
        return longer & (cycle(tokens, self.rounds) > 0)


def cycle(tokens: Tensor, rounds: int) -> Tensor:
    """The shortest cycle that the end of each row (N, t) repeats `rounds` times; 0 where there is none: (N,)."""
    found = torch.zeros(len(tokens), dtype=torch.long, device=tokens.device)
    for period in range(min(LONGEST_CYCLE, tokens.shape[1] // rounds), 0, -1):
        tail = tokens[:, -period * rounds :]
        repeats = (tail[:, period:] == tail[:, :-period]).all(dim=1)
        found = torch.where(repeats, period, found)
    return found


def nothing(rows: int, columns: int, device: torch.device) -> Tensor:
    """What stands in the columns before a row's first token: numbers that no token has, all different."""
    return -1 - torch.arange(columns, device=device).expand(rows, -1)


def unwind(ids: list[int], rounds: int) -> list[int]:
    """An output that ended in a loop, with one round of it left."""
    period = _period(ids, rounds)
    if not period:
        return ids
    while len(ids) >= 2 * period and ids[-period:] == ids[-2 * period : -period]:
        ids = ids[:-period]
    return ids


def _period(ids: list[int], rounds: int) -> int:
    """`cycle` of one row."""
    for period in range(1, min(LONGEST_CYCLE, len(ids) // rounds) + 1):
        end = ids[len(ids) - period * rounds :]
        if end[period:] == end[:-period]:
            return period
    return 0
