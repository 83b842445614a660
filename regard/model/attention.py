"""Attention: the equation, and the module that holds its weights."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.positions import Positions
from regard.model.taps import NO_TAP, Tap


def score(q: Tensor, k: Tensor, bias: Tensor | None = None) -> Tensor:
    """How well each query matches each key: q kᵀ / √K + bias."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, Tq, K) @ (B, H, K, Tk) -> (B, H, Tq, Tk)
    return scores if bias is None else scores + bias


def masked_softmax(scores: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that a query may attend to; exactly 0 for the others, and for a row that is all masked."""
    if attn_mask is None:
        return scores.softmax(dim=-1)
    # The lowest finite number instead of -inf: a row that is all masked stays finite, forward and backward.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~attn_mask, lowest).softmax(dim=-1).masked_fill(~attn_mask, 0.0)


Normalizer = Callable[[Tensor, Tensor | None], Tensor]
"""Scores (B, H, Tq, Tk) and a mask -> weights."""


class AttentionTaps(NamedTuple):
    """Where scores and weights (B, H, Tq, Tk) can be observed on their way."""

    scores: Tap = NO_TAP
    weights: Tap = NO_TAP


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    taps: AttentionTaps = AttentionTaps(),
    normalizer: Normalizer = masked_softmax,
) -> tuple[Tensor, Tensor]:
    """softmax(q kᵀ / √K + bias) v, and the weights.  Vaswani et al. 2017, equation 1.

    q (B, H, Tq, K), k (B, H, Tk, K), v (B, H, Tk, K); attn_mask (True = may attend) and bias broadcast to
    (B, H, Tq, Tk).
    """
    scores = taps.scores(score(q, k, bias))
    weights = F.dropout(taps.weights(normalizer(scores, attn_mask)), dropout)
    return weights @ v, weights


AttentionFunction = Callable[..., tuple[Tensor, Tensor | None]]
"""The function that an `Attention` is handed: (q, k, v, attn_mask, bias, dropout, taps) -> output and weights."""


class KeyValues(NamedTuple):
    """Keys and values (B, H, Tk, K), and the position of each key (B or 1, Tk)."""

    k: Tensor
    v: Tensor
    position_ids: Tensor


class Attention(nn.Module):
    """Multi-head attention. Queries come from one sequence; keys and values from the same one or another."""

    def __init__(
        self,
        dim: int,
        heads: int,
        positions: Positions,
        bias: bool = True,
        dropout: float = 0.0,
        attend: AttentionFunction = attend,
        kept_heads: tuple[int, ...] | None = None,
    ):
        """`kept_heads`: the numbers of the heads that pruning has kept; None: all."""
        super().__init__()
        self.head_ids = tuple(range(heads)) if kept_heads is None else kept_heads
        self.heads = len(self.head_ids)
        self.head_dim = dim // heads
        self.dropout = dropout
        self.attend = attend
        self.positions = positions
        inner = self.heads * self.head_dim  # dim, unless heads were pruned
        self.q_proj = nn.Linear(dim, inner, bias)
        self.k_proj = nn.Linear(dim, inner, bias)
        self.v_proj = nn.Linear(dim, inner, bias)
        self.out_proj = nn.Linear(inner, dim, bias)
        self.q_norm: nn.Module = nn.Identity()  # unless the builder normalizes both
        self.k_norm: nn.Module = nn.Identity()
        self.scores = Tap()  # (B, H, Tq, Tk)
        self.weights = Tap()  # (B, H, Tq, Tk)
        self.head_outputs = Tap()  # (B, H, Tq, K)

    def project_kv(self, x: Tensor, position_ids: Tensor) -> KeyValues:
        """Keys and values of a sequence x (B, Tk, D) at these positions."""
        k = self.positions.rotate(self.k_norm(self._split_heads(self.k_proj(x))), position_ids)
        return KeyValues(k, self._split_heads(self.v_proj(x)), position_ids)

    def forward(self, x: Tensor, kv: KeyValues, attn_mask: Tensor | None, position_ids: Tensor) -> Tensor:
        """What each token of x (B, Tq, D), at these positions, takes from what it attends to: (B, Tq, D)."""
        q = self.positions.rotate(self.q_norm(self._split_heads(self.q_proj(x))), position_ids)  # (B, H, Tq, K)
        head_outputs = self.attend_heads(q, kv, attn_mask, position_ids)  # (B, H, Tq, K)
        return self.out_proj(head_outputs.transpose(1, 2).flatten(2))  # (B, Tq, H·K) -> (B, Tq, D)

    def attend_heads(self, q: Tensor, kv: KeyValues, attn_mask: Tensor | None, position_ids: Tensor) -> Tensor:
        """What each head takes for queries (B, H, Tq, K) at these positions: (B, H, Tq, K)."""
        bias = self.positions.bias(q, position_ids, kv.position_ids)
        dropout = self.dropout if self.training else 0.0
        output, weights = self.attend(q, kv.k, kv.v, attn_mask, bias, dropout, AttentionTaps(self.scores, self.weights))
        if self.positions.adds_to_values:
            assert weights is not None
            output = output + self.positions.value_bias(weights, position_ids, kv.position_ids)
        return self.head_outputs(output)

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)  # (B, T, H·K) -> (B, H, T, K)
