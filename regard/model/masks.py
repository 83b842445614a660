"""The one mask: boolean, True = may look, broadcastable to (B, H, Tq, Tk), combined with &.

Masks hide keys only. They are made here, by the model, from ids; layers receive them.
"""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Keys that are tokens, not padding: (B, Tk) -> (B, 1, 1, Tk)."""
    return (ids != pad)[:, None, None, :]


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Keys that are not in the future of the last `queries` of `keys` tokens: (Tq, Tk)."""
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def position_ids_of(ids: Tensor, start: int = 0) -> Tensor:
    """Where tokens stand if nobody says otherwise: start, start + 1, … as (1, T)."""
    return torch.arange(start, start + ids.shape[1], device=ids.device)[None]
