"""The largest of many numbers."""

import torch
from torch import Tensor

LANES = 64  # columns that are compared side by side: vector instructions find a maximum fast, but not where it stands
MIN_ROWS = 8  # rows that are looked at sooner than lanes are made of them


def topk(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`x.topk(count, dim=-1)` of rows (R, V): values and places, the largest first; of equal ones, any.

    Whoever is among the largest stands in a lane whose maximum is: so few lanes are looked at closely.
    """
    full_width = x.shape[1] - x.shape[1] % LANES
    if len(x) < MIN_ROWS or 2 * k > LANES or full_width <= LANES:
        return x.topk(k, dim=-1)
    strips = x[:, :full_width].unflatten(1, (-1, LANES))  # (R, n, lanes)
    lanes = strips.amax(dim=1).topk(k, dim=-1).indices  # (R, count)
    candidates = strips.gather(2, lanes[:, None].expand(-1, strips.shape[1], -1)).flatten(1)  # (R, n · count)
    values, indices = torch.cat((candidates, x[:, full_width:]), dim=1).topk(k, dim=-1)
    lane_indices = indices // k * LANES + lanes.gather(1, indices % k)
    return values, lane_indices.where(indices < candidates.shape[1], indices - candidates.shape[1] + full_width)
