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


def normalise(scores: Tensor, keep: Tensor | None = None) -> Tensor:
    """Softmax over the keys that may be looked at; exactly 0 for the others, and for a row that may see nothing."""
    if keep is None:
        return scores.softmax(dim=-1)
    # The lowest finite number instead of -inf: an empty row stays finite, forwards and backwards.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~keep, lowest).softmax(dim=-1).masked_fill(~keep, 0.0)


def select(scores: Tensor, keep: Tensor | None = None) -> Tensor:
    """All weight on the best key that may be looked at, the first of several; 0 everywhere if none may."""
    if keep is not None:
        scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    best = scores == scores.amax(dim=-1, keepdim=True)
    first = best & (best.cumsum(dim=-1) == 1)
    return (first if keep is None else first & keep).to(scores.dtype)


Weigh = Callable[[Tensor, Tensor | None], Tensor]
"""Scores (B, H, Tq, Tk) and which keys may be looked at -> weights."""


def attend(
    q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None = None, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(q kᵀ / √K + bias) v, and the weights.  Vaswani et al. 2017, equation 1.

    q (B, H, Tq, K), k (B, H, Tk, K), v (B, H, Tk, K); keep and bias broadcast to (B, H, Tq, Tk).
    """
    weights = normalise(score(q, k, bias), keep)
    return weights @ v, weights


def attend_fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keep: Tensor | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """`attend` in one kernel that never writes its weights down."""
    mask = keep
    if bias is not None:
        mask = bias if keep is None else bias.masked_fill(~keep, -math.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)


class KeyValues(NamedTuple):
    """What attention looks at: keys and values (B, H, Tk, K), and where each key stands (B or 1, Tk)."""

    k: Tensor
    v: Tensor
    at: Tensor


class Attention(nn.Module):
    """Multi-head attention. Queries come from one sequence; keys and values from the same one or another."""

    def __init__(
        self,
        dim: int,
        heads: int,
        positions: Positions,
        bias: bool = True,
        dropout: float = 0.0,
        weigh: Weigh = normalise,
        left: tuple[int, ...] | None = None,
    ):
        """`left`: the numbers of the heads that pruning has left; None: all."""
        super().__init__()
        self.numbers = tuple(range(heads)) if left is None else left
        self.heads = len(self.numbers)
        self.width = dim // heads
        self.dropout = dropout
        self.weigh = weigh
        self.positions = positions
        inner = self.heads * self.width  # dim, unless heads were pruned
        self.q = nn.Linear(dim, inner, bias)
        self.k = nn.Linear(dim, inner, bias)
        self.v = nn.Linear(dim, inner, bias)
        self.out = nn.Linear(inner, dim, bias)
        self.scores = Tap()  # (B, H, Tq, Tk)
        self.weights = Tap()  # (B, H, Tq, Tk)
        self.mixed = Tap()  # (B, H, Tq, K): what each head hands over; watching it costs the fused path nothing

    def look_at(self, x: Tensor, at: Tensor) -> KeyValues:
        """Keys and values of a sequence x (B, Tk, D) that stands at `at`."""
        return KeyValues(self.positions.turn(self._split(self.k(x)), at), self._split(self.v(x)), at)

    def forward(self, x: Tensor, seen: KeyValues, keep: Tensor | None, at: Tensor) -> Tensor:
        """What each token of x (B, Tq, D), standing at `at`, takes from what it looks at: (B, Tq, D)."""
        q = self.positions.turn(self._split(self.q(x)), at)  # (B, H, Tq, K)
        mixed = self.mix(q, seen, keep, at)  # (B, H, Tq, K)
        return self.out(mixed.transpose(1, 2).flatten(2))  # (B, Tq, H·K) -> (B, Tq, D)

    @property
    def fusable(self) -> bool:
        """Whether nobody needs the weights: no watcher, no scheme of positions, no other way to weigh."""
        watched = self.scores.watched or self.weights.watched
        return not (watched or self.positions.mixes) and self.weigh is normalise

    def mix(self, q: Tensor, seen: KeyValues, keep: Tensor | None, at: Tensor) -> Tensor:
        """What queries (B, H, Tq, K), standing at `at`, take from the values they look at."""
        bias = self.positions.bias(q, at, seen.at)
        dropout = self.dropout if self.training else 0.0
        if self.fusable:
            return self.mixed(attend_fused(q, seen.k, seen.v, keep, bias, dropout))
        weights = self.weights(self.weigh(self.scores(score(q, seen.k, bias)), keep))
        weights = F.dropout(weights, dropout)
        mixed = weights @ seen.v
        return self.mixed(mixed + self.positions.mix(weights, at, seen.at) if self.positions.mixes else mixed)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.width)).transpose(1, 2)  # (B, T, H·K) -> (B, H, T, K)
