"""A batch of a toy task."""

from typing import NamedTuple

from torch import Tensor

IGNORED = -100
"""A target that is not asked for; cross-entropy leaves it out by default."""


class ToyBatch(NamedTuple):
    """Inputs, and what is to be said of them."""

    ids: Tensor
    """(B, T)"""
    targets: Tensor
    """(B,) of a text, (B, T) of each of its tokens, or (B, N) of N questions about it."""

    def asked_last(self, count: int) -> "ToyBatch":
        """The same texts, of which only the last targets are asked for."""
        return ToyBatch(self.ids, self.targets[:, -count:])
