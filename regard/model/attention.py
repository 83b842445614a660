"""Attention: the equation, once; the same thing fused; and the module that holds its weights."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.positions import Positions
from regard.model.taps import Tap


def score(q: Tensor, k: Tensor, bias: Tensor | None = None) -> Tensor:
    """How well each query fits each key: q kᵀ / √K + bias."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, Tq, K) @ (B, H, K, Tk) -> (B, H, Tq, Tk)
    return scores if bias is None else scores + bias


def masked_softmax(scores: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that may be looked at; exactly 0 for the others, and for a row that may see nothing."""
    if attn_mask is None:
        return scores.softmax(dim=-1)
    # The lowest finite number instead of -inf: an empty row stays finite, forwards and backwards.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~attn_mask, lowest).softmax(dim=-1).masked_fill(~attn_mask, 0.0)


def hard_attention(scores: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """All weight on the best key that may be looked at, the first of several; 0 everywhere if none may."""
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    best = scores == scores.amax(dim=-1, keepdim=True)
    first_best = best & (best.cumsum(dim=-1) == 1)
    return (first_best if attn_mask is None else first_best & attn_mask).to(scores.dtype)


Normalizer = Callable[[Tensor, Tensor | None], Tensor]
"""Scores (B, H, Tq, Tk) and which keys may be looked at -> weights."""


def attend(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(q kᵀ / √K + bias) v, and the weights.  Vaswani et al. 2017, equation 1.

    q (B, H, Tq, K), k (B, H, Tk, K), v (B, H, Tk, K); keep and bias broadcast to (B, H, Tq, Tk).
    """
    weights = masked_softmax(score(q, k, bias), attn_mask)
    return weights @ v, weights


def attend_fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """`attend` in one kernel that never writes its weights down."""
    mask = attn_mask
    if bias is not None:
        mask = bias if attn_mask is None else bias.masked_fill(~attn_mask, -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


class KeyValues(NamedTuple):
    """What attention looks at: keys and values (B, H, Tk, K), and where each key stands (B or 1, Tk)."""

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
        normalizer: Normalizer = masked_softmax,
        kept_heads: tuple[int, ...] | None = None,
    ):
        """`left`: the numbers of the heads that pruning has left; None: all."""
        super().__init__()
        self.head_ids = tuple(range(heads)) if kept_heads is None else kept_heads
        self.heads = len(self.head_ids)
        self.head_dim = dim // heads
        self.dropout = dropout
        self.normalizer = normalizer
        self.positions = positions
        inner = self.heads * self.head_dim  # dim, unless heads were pruned
        self.q_proj = nn.Linear(dim, inner, bias)
        self.k_proj = nn.Linear(dim, inner, bias)
        self.v_proj = nn.Linear(dim, inner, bias)
        self.out_proj = nn.Linear(inner, dim, bias)
        self.scores = Tap()  # (B, H, Tq, Tk)
        self.weights = Tap()  # (B, H, Tq, Tk)
        self.head_outputs = Tap()  # (B, H, Tq, K): what each head hands over; watching it costs the fused path nothing

    def project_kv(self, x: Tensor, position_ids: Tensor) -> KeyValues:
        """Keys and values of a sequence x (B, Tk, D) that stands at `at`."""
        return KeyValues(
            self.positions.rotate(self._split_heads(self.k_proj(x)), position_ids),
            self._split_heads(self.v_proj(x)),
            position_ids,
        )

    def forward(self, x: Tensor, kv: KeyValues, attn_mask: Tensor | None, position_ids: Tensor) -> Tensor:
        """What each token of x (B, Tq, D), standing at `at`, takes from what it looks at: (B, Tq, D)."""
        q = self.positions.rotate(self._split_heads(self.q_proj(x)), position_ids)  # (B, H, Tq, K)
        head_outputs = self.attend(q, kv, attn_mask, position_ids)  # (B, H, Tq, K)
        return self.out_proj(head_outputs.transpose(1, 2).flatten(2))  # (B, Tq, H·K) -> (B, Tq, D)

    @property
    def fusable(self) -> bool:
        """Whether nobody needs the weights: no watcher, no scheme of positions, no other way to weigh."""
        watched = self.scores.hooked or self.weights.hooked
        return not (watched or self.positions.adds_to_values) and self.normalizer is masked_softmax

    def attend(self, q: Tensor, kv: KeyValues, attn_mask: Tensor | None, position_ids: Tensor) -> Tensor:
        """What queries (B, H, Tq, K), standing at `at`, take from the values they look at."""
        bias = self.positions.bias(q, position_ids, kv.position_ids)
        dropout = self.dropout if self.training else 0.0
        if self.fusable:
            return self.head_outputs(attend_fused(q, kv.k, kv.v, attn_mask, bias, dropout))
        weights = self.weights(self.normalizer(self.scores(score(q, kv.k, bias)), attn_mask))
        weights = F.dropout(weights, dropout)
        head_outputs = weights @ kv.v
        return self.head_outputs(
            head_outputs + self.positions.value_bias(weights, position_ids, kv.position_ids)
            if self.positions.adds_to_values
            else head_outputs
        )

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)  # (B, T, H·K) -> (B, H, T, K)
