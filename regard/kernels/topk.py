"""Top-k of large vocabularies."""

import torch
from torch import Tensor

LANES = 64  # columns compared side by side: vector instructions find a maximum fast, but not its index
MIN_ROWS = 8  # for fewer rows the plain topk is faster


def topk(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`x.topk(k, dim=-1)` of rows (R, V): values and indices, the largest first; of equal ones, any.

    Each of the k largest is in one of the k lanes with the largest maxima, so only these are searched.
    """
    full_width = x.shape[1] - x.shape[1] % LANES
    if len(x) < MIN_ROWS or 2 * k > LANES or full_width <= LANES:
        return x.topk(k, dim=-1)
    strips = x[:, :full_width].unflatten(1, (-1, LANES))  # (R, n, lanes)
    lanes = strips.amax(dim=1).topk(k, dim=-1).indices  # (R, k)
    candidates = strips.gather(2, lanes[:, None].expand(-1, strips.shape[1], -1)).flatten(1)  # (R, n · k)
    values, indices = torch.cat((candidates, x[:, full_width:]), dim=1).topk(k, dim=-1)
    lane_indices = indices // k * LANES + lanes.gather(1, indices % k)
    return values, lane_indices.where(indices < candidates.shape[1], indices - candidates.shape[1] + full_width)
