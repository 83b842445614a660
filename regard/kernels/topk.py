"""The largest of many numbers."""

import torch
from torch import Tensor

LANES = 64  # columns that are compared side by side: vector instructions find a maximum fast, but not where it stands
FEW = 8  # rows that are looked at sooner than lanes are made of them


def largest(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`x.topk(count, dim=-1)` of rows (R, V): values and places, the largest first; of equal ones, any.

    Whoever is among the largest stands in a lane whose maximum is: so few lanes are looked at closely.
    """
    whole = x.shape[1] - x.shape[1] % LANES
    if len(x) < FEW or 2 * count > LANES or whole <= LANES:
        return x.topk(count, dim=-1)
    strips = x[:, :whole].unflatten(1, (-1, LANES))  # (R, n, lanes)
    lanes = strips.amax(dim=1).topk(count, dim=-1).indices  # (R, count)
    close = strips.gather(2, lanes[:, None].expand(-1, strips.shape[1], -1)).flatten(1)  # (R, n · count)
    values, at = torch.cat((close, x[:, whole:]), dim=1).topk(count, dim=-1)
    inside = at // count * LANES + lanes.gather(1, at % count)
    return values, inside.where(at < close.shape[1], at - close.shape[1] + whole)
