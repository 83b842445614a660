"""The interface of all schemes, which is also the scheme of no positions at all."""

import sys

from torch import Tensor, nn


class Positions(nn.Module):
    """No positions, and the doors of all the others: identity unless a scheme says otherwise."""

    width = 0
    """How many of the D dimensions the scheme keeps for itself, beside the word."""

    limit = sys.maxsize
    """The longest sequence that has places to stand."""

    adds_to_values = False
    """Whether the scheme has something to add to what attention takes from values. Such attention cannot be fused."""

    by_head = False
    """Whether `bias` has a row for each head, so that a layer without some of its heads must choose among them."""

    def shift_positions(self, position_ids: Tensor, rows: int) -> Tensor:
        """Where the tokens of so many rows are said to stand, given where they do (B or 1, T)."""
        return position_ids

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Mark word vectors x (…, D - width) with where they stand (…): (…, D)."""
        return x

    def rotate(self, q: Tensor, position_ids: Tensor) -> Tensor:
        """Rotate queries or keys (B, H, T, K) by where they stand."""
        return q

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor | None:
        """What to add to the scores, broadcastable to (B, H, Tq, Tk); None for nothing."""
        return None

    def value_bias(self, weights: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        """What to add to the mixed values (B, H, Tq, K), given the weights (B, H, Tq, Tk); asked only if it `mixes`."""
        raise NotImplementedError


def relative_positions(q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
    """How far each key stands behind (+) or before (-) each query: j - i, as (B or 1, Tq, Tk)."""
    return k_position_ids[:, None, :] - q_position_ids[:, :, None]
