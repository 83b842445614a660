"""Guards that are on by default: a longest output, and a stop for outputs that go round in circles.

There is no ban on repeated n-grams: it would break copying, lists and refrains.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decode.stepper import Stepper

MAX_CYCLE_LENGTH = 8


@dataclass(frozen=True)
class Limits:
    """How long an output may get, given its source."""

    factor: float = 2.0
    extra: int = 16
    loop_repeats: int = 4
    """So many rounds of the same few tokens are a loop, if the output is longer than its source by then."""

    def max_lengths(self, stepper: Stepper) -> Tensor:
        """The most tokens, eos included, for each source; never more than the model has places for."""
        return ((stepper.source_lengths * self.factor).long() + self.extra).clamp(max=stepper.max_output_length)

    def detect_loops(self, tokens: Tensor, output_lengths: Tensor, source_lengths: Tensor) -> Tensor:
        """Which rows (R, t), of which the last `taken` are tokens, end in a loop: (R,) of bool.

        A source that repeats itself may be echoed.
        """
        longer = output_lengths > source_lengths
        if not bool(longer.any()):
            return longer
        return longer & (cycle_lengths(tokens, self.loop_repeats) > 0)


def cycle_lengths(tokens: Tensor, loop_repeats: int) -> Tensor:
    """The shortest cycle that the end of each row (N, t) repeats `rounds` times; 0 where there is none: (N,)."""
    periods = torch.zeros(len(tokens), dtype=torch.long, device=tokens.device)
    for period in range(min(MAX_CYCLE_LENGTH, tokens.shape[1] // loop_repeats), 0, -1):
        tail = tokens[:, -period * loop_repeats :]
        repeats = (tail[:, period:] == tail[:, :-period]).all(dim=1)
        periods = torch.where(repeats, period, periods)
    return periods


def filler_tokens(rows: int, columns: int, device: torch.device) -> Tensor:
    """What stands in the columns before a row's first token: numbers that no token has, all different."""
    return -1 - torch.arange(columns, device=device).expand(rows, -1)


def trim_loop(ids: list[int], loop_repeats: int) -> list[int]:
    """An output that ended in a loop, with one round of it left."""
    period = _cycle_length(ids, loop_repeats)
    if not period:
        return ids
    while len(ids) >= 2 * period and ids[-period:] == ids[-2 * period : -period]:
        ids = ids[:-period]
    return ids


def _cycle_length(ids: list[int], loop_repeats: int) -> int:
    """`cycle` of one row."""
    for period in range(1, min(MAX_CYCLE_LENGTH, len(ids) // loop_repeats) + 1):
        tail = ids[len(ids) - period * loop_repeats :]
        if tail[period:] == tail[:-period]:
            return period
    return 0
