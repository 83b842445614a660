"""The one mask: boolean, True = may attend, broadcastable to (B, H, Tq, Tk), combined with &.

Masks hide keys only. They are made here, by the model, from ids; layers receive them.
"""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Keys that are tokens, not padding: (B, Tk) -> (B, 1, 1, Tk)."""
    return (ids != pad)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Keys that are not in the future of each query: (T, T)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def causal_padding_mask(ids: Tensor, pad: int) -> Tensor:
    """Tokens (B, T) attend to themselves and to those before them, not to padding: (B, 1, T, T)."""
    return padding_mask(ids, pad) & causal_mask(ids.shape[1], ids.device)


def position_ids_of(ids: Tensor) -> Tensor:
    """The positions of tokens (B, T) unless others are given: 0, 1, … as (1, T)."""
    return torch.arange(ids.shape[1], device=ids.device)[None]
