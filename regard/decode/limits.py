"""Limits that are on by default: a maximum output length, and a stop for outputs that repeat in a loop.

Repeated n-grams are not forbidden: that would break copying, lists and refrains.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decode.stepper import Stepper

MAX_CYCLE_LENGTH = 8


@dataclass(frozen=True)
class Limits:
    """The maximum length of an output, relative to its source, and when it counts as a loop."""

    factor: float = 2.0
    extra: int = 16
    loop_repeats: int = 4
    """Repetitions of the same few tokens that count as a loop once the output is longer than its source."""

    def max_lengths(self, stepper: Stepper) -> Tensor:
        """The maximum output length, eos included, for each source; at most the positions that the model has."""
        return ((stepper.source_lengths * self.factor).long() + self.extra).clamp(max=stepper.max_output_length)

    def detect_loops(self, tokens: Tensor, output_lengths: Tensor, source_lengths: Tensor) -> Tensor:
        """Which rows (R, t), with tokens in their last `output_lengths` columns, end in a loop: bool (R,).

        Outputs no longer than their source are exempt, so that a repetitive source can be copied.
        """
        longer = output_lengths > source_lengths
        if not bool(longer.any()):
            return longer
        return longer & (cycle_lengths(tokens, self.loop_repeats) > 0)


def cycle_lengths(tokens: Tensor, loop_repeats: int) -> Tensor:
    """The shortest period that each row (N, t) repeats `loop_repeats` times at its end; 0 if none: (N,)."""
    periods = torch.zeros(len(tokens), dtype=torch.long, device=tokens.device)
    for period in range(min(MAX_CYCLE_LENGTH, tokens.shape[1] // loop_repeats), 0, -1):
        tail = tokens[:, -period * loop_repeats :]
        repeats = (tail[:, period:] == tail[:, :-period]).all(dim=1)
        periods = torch.where(repeats, period, periods)
    return periods


def filler_tokens(rows: int, columns: int, device: torch.device) -> Tensor:
    """Filler for the columns before a row's first token: negative numbers, all different."""
    return -1 - torch.arange(columns, device=device).expand(rows, -1)


def trim_loop(ids: list[int], loop_repeats: int) -> list[int]:
    """An output that ends in a loop, reduced to one repetition."""
    period = _cycle_length(ids, loop_repeats)
    if not period:
        return ids
    while ids[-period:] == ids[-2 * period : -period]:
        ids = ids[:-period]
    return ids


def _cycle_length(ids: list[int], loop_repeats: int) -> int:
    """`cycle_lengths` of one row."""
    for period in range(1, min(MAX_CYCLE_LENGTH, len(ids) // loop_repeats) + 1):
        tail = ids[len(ids) - period * loop_repeats :]
        if tail[period:] == tail[:-period]:
            return period
    return 0
