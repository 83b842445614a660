"""The interface of all schemes, which is also the scheme of no positions at all."""

import sys

from torch import Tensor, nn


class Positions(nn.Module):
    """No positions, and the interface of all schemes: identity unless a scheme overrides a method."""

    width = 0
    """Dimensions of D that the scheme reserves beside the token embedding."""

    limit = sys.maxsize
    """The longest sequence that the scheme has positions for."""

    adds_to_values = False
    """Whether the scheme adds something to the head outputs, for which it needs the weights."""

    by_head = False
    """Whether `bias` has an entry per head, from which a pruned layer selects those of its heads."""

    def shift_positions(self, position_ids: Tensor, rows: int) -> Tensor:
        """The positions (B or 1, T) that embeddings are given, which may be shifted in training."""
        return position_ids

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        """Embeddings x (…, D - width) with the encodings of their positions (…): (…, D)."""
        return x

    def rotate(self, q: Tensor, position_ids: Tensor) -> Tensor:
        """Rotate queries or keys (B, H, T, K) by their positions."""
        return q

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor | None:
        """What to add to the scores, broadcastable to (B, H, Tq, Tk); None for nothing."""
        return None

    def value_bias(self, weights: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        """What to add to the head outputs (B, H, Tq, K), given the weights; called only if `adds_to_values`."""
        raise NotImplementedError


def relative_positions(q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
    """The distance j - i from each query i to each key j: (B or 1, Tq, Tk)."""
    return k_position_ids[:, None, :] - q_position_ids[:, :, None]
