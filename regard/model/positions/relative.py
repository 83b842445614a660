"""Relative schemes: attention scores depend on the distance between query and key."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.errors import ModelError
from regard.model.positions.base import Positions, relative_positions


class Relative(Positions):
    """An embedding for each distance up to `max_relative`, added to keys and optionally to values.  Shaw et al. 2018.

    score = q · (k + a[clip(j - i)]) / √K; the embeddings are shared by the heads of a layer.
    """

    def __init__(self, width: int, max_relative: int, values: bool = False):
        super().__init__()
        self.max_relative = max_relative
        self.adds_to_values = values
        self.keys = nn.Parameter(torch.empty(2 * max_relative + 1, width))
        self.values = nn.Parameter(torch.empty(2 * max_relative + 1, width)) if values else None
        for table in self.parameters():
            nn.init.xavier_uniform_(table)

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        distance_scores = q @ self.keys.mT / math.sqrt(q.shape[-1])  # (B, H, Tq, distances)
        rows = self._rows(q_position_ids, k_position_ids)[:, None]  # (B or 1, 1, Tq, Tk)
        return distance_scores.gather(3, rows.expand(*distance_scores.shape[:3], -1))

    def value_bias(self, weights: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        assert self.values is not None
        rows = self._rows(q_position_ids, k_position_ids)[:, None].expand_as(weights)
        # The weight of each distance, then the weighted sum of the distances' embeddings.
        by_distance = weights.new_zeros(*weights.shape[:3], len(self.values)).scatter_add(3, rows, weights)
        return by_distance @ self.values

    def _rows(self, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        distances = relative_positions(q_position_ids, k_position_ids)
        return distances.clamp(-self.max_relative, self.max_relative) + self.max_relative


class LearnedBias(Positions):
    """One learned bias for each head and distance: 2(T - 1) + 1 per head."""

    by_head = True

    def __init__(self, heads: int, length: int):
        super().__init__()
        self.limit = length
        self.table = nn.Parameter(torch.zeros(heads, 2 * length - 1))

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        distance = relative_positions(q_position_ids, k_position_ids)  # (B or 1, Tq, Tk)
        if int(distance.abs().max()) >= self.limit:
            raise ModelError(
                f"two tokens are {int(distance.abs().max())} positions apart: the model has biases up to a distance of "
                f"{self.limit - 1} (model.positions.length={self.limit}). Split the sentence, or train with a larger "
                "model.positions.length."
            )
        return self.table[:, distance + self.limit - 1].transpose(0, 1)  # (B or 1, H, Tq, Tk)


def relative_position_bucket(distance: Tensor, buckets: int, max_distance: int, bidirectional: bool) -> Tensor:
    """Which bucket a distance j - i falls into: near ones have their own, far ones share by logarithm.

    Raffel et al. 2020. Bidirectional: half of the buckets are for keys after the query; else those count as distance 0.
    """
    start = torch.zeros_like(distance)
    if bidirectional:
        buckets //= 2
        start = (distance > 0) * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp(min=0)
    exact = buckets // 2
    ratio = (distance.clamp(min=1).float() / exact).log() / math.log(max_distance / exact)
    far = exact + (ratio * (buckets - exact)).long()
    return start + torch.where(distance < exact, distance, far.clamp(max=buckets - 1))


class T5Bias(Positions):
    """A learned bias for each head and bucket of distances; all layers of a stack share one table."""

    by_head = True

    def __init__(self, heads: int, buckets: int, max_distance: int, bidirectional: bool):
        super().__init__()
        self.max_distance = max_distance
        self.bidirectional = bidirectional
        self.table = nn.Parameter(torch.empty(buckets, heads))
        nn.init.normal_(self.table, std=0.1)

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        rows = relative_position_bucket(
            relative_positions(q_position_ids, k_position_ids), len(self.table), self.max_distance, self.bidirectional
        )
        return self.table[rows].permute(0, 3, 1, 2)  # (B or 1, Tq, Tk, H) -> (B or 1, H, Tq, Tk)


def alibi_slopes(heads: int) -> list[float]:
    """ALiBi's slopes: 2^(-8h/H) for H a power of two; else those of the power below, then every second one above it.

    Press et al. 2022.
    """
    below = 2 ** int(math.log2(heads))
    first = [2 ** (-8 * (h + 1) / below) for h in range(below)]
    return first + [2 ** (-4 * (2 * h + 1) / below) for h in range(heads - below)]


class ALiBi(Positions):
    """Nothing learned: scores fall with the distance, in each head at its own slope.

    Symmetric: -m |j - i|, which in a causal decoder is the scheme as published. Two-sided, for encoders: half of the
    heads attend to the left only and half to the right only, so that left and right are distinguished.
    """

    by_head = True

    def __init__(self, heads: int, two_sided: bool = False):
        super().__init__()
        self.two_sided = two_sided
        head_slopes = alibi_slopes(-(-heads // 2)) * 2 if two_sided else alibi_slopes(heads)
        self.register_buffer("slopes", torch.tensor(head_slopes[:heads]), persistent=False)
        self.slopes: Tensor

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        distance = relative_positions(q_position_ids, k_position_ids)[:, None].to(q.dtype)  # (B or 1, 1, Tq, Tk)
        penalty = -self.slopes.to(q.dtype)[:, None, None] * distance.abs()  # (B or 1, H, Tq, Tk)
        if not self.two_sided:
            return penalty
        left_heads = torch.arange(len(self.slopes), device=q.device)[:, None, None] < -(-len(self.slopes) // 2)
        # A quarter of the lowest number, not -inf: a row that is all masked must stay finite.
        return penalty.masked_fill(torch.where(left_heads, distance > 0, distance < 0), torch.finfo(q.dtype).min / 4)


class SelectedHeads(Positions):
    """Another scheme, for a pruned layer: of what the scheme has per head, the entries of the kept heads."""

    def __init__(self, scheme: Positions, head_ids: Sequence[int]):
        super().__init__()
        self.scheme = scheme
        self.limit = scheme.limit
        self.adds_to_values = scheme.adds_to_values
        self.head_ids = list(head_ids)

    def rotate(self, q: Tensor, position_ids: Tensor) -> Tensor:
        return self.scheme.rotate(q, position_ids)

    def bias(self, q: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        all_heads_bias = self.scheme.bias(q, q_position_ids, k_position_ids)
        assert all_heads_bias is not None
        return all_heads_bias[:, self.head_ids]

    def value_bias(self, weights: Tensor, q_position_ids: Tensor, k_position_ids: Tensor) -> Tensor:
        return self.scheme.value_bias(weights, q_position_ids, k_position_ids)
