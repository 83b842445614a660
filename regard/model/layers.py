"""The layers around attention: norms, feed-forward, residuals, and the two layers made of them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.attention import Attention
from regard.model.taps import Tap

Sublayer = Callable[[Tensor], Tensor]


class EncoderOutput(NamedTuple):
    """What the decoder knows of the source: the encoder's states (B, S, D), a mask (B, 1, 1, S) and positions."""

    states: Tensor
    attn_mask: Tensor
    position_ids: Tensor


class LayerNorm(nn.Module):
    """(x - mean) / √(variance + ε) · weight + bias.  Ba et al. 2016."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


class FeedForward(nn.Module):
    """down(f(up(x))): the same two linear layers for every token."""

    def __init__(self, dim: int, ffn: int, activation: Callable[[Tensor], Tensor], bias: bool, dropout: float):
        super().__init__()
        self.up = nn.Linear(dim, ffn, bias)
        self.down = nn.Linear(ffn, dim, bias)
        self.activation = activation
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = self.activation(self.up(x))  # (B, T, D) -> (B, T, F)
        return self.down(F.dropout(inner, self.dropout, self.training))


class Residual(nn.Module):
    """after(x + dropout(sublayer(before(x)))); where the norm stands is up to the subclass."""

    def __init__(self, norm: nn.Module, dropout: float):
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def before(self, x: Tensor) -> Tensor:
        """What the sublayer is given."""
        return x

    def after(self, x: Tensor) -> Tensor:
        """What becomes of the sum."""
        return x

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.after(x + F.dropout(sublayer(self.before(x)), self.dropout, self.training))


class PreNorm(Residual):
    """x + dropout(f(norm(x))): the residual stream is never normalized, which makes training stable."""

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x)


class PostNorm(Residual):
    """norm(x + dropout(f(x))).  Vaswani et al. 2017, section 5.4."""

    def after(self, x: Tensor) -> Tensor:
        return self.norm(x)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual. With a causal mask it is a language model's layer."""

    def __init__(self, self_attn: Attention, feed_forward: nn.Module, residuals: Sequence[Residual]):
        super().__init__()
        self.self_attn, self.feed_forward = self_attn, feed_forward
        self.self_attn_residual, self.feed_forward_residual = residuals
        self.out = Tap()  # (B, T, D)

    def forward(self, x: Tensor, attn_mask: Tensor | None, position_ids: Tensor) -> Tensor:
        """x (B, T, D) -> (B, T, D)."""
        x = self.self_attn_residual(x, lambda h: _attend_to_self(self.self_attn, h, attn_mask, position_ids))
        x = self.feed_forward_residual(x, self.feed_forward)
        return self.out(x)


class DecoderLayer(nn.Module):
    """Self-attention over the target, cross-attention over the source, then feed-forward, each inside a residual."""

    def __init__(
        self, self_attn: Attention, cross_attn: Attention, feed_forward: nn.Module, residuals: Sequence[Residual]
    ):
        super().__init__()
        self.self_attn, self.cross_attn, self.feed_forward = self_attn, cross_attn, feed_forward
        self.self_attn_residual, self.cross_attn_residual, self.feed_forward_residual = residuals
        self.out = Tap()  # (B, T, D)

    def forward(self, x: Tensor, attn_mask: Tensor | None, position_ids: Tensor, source: EncoderOutput) -> Tensor:
        """x (B, T, D) -> (B, T, D), given the source."""
        source_kv = self.cross_attn.project_kv(source.states, source.position_ids)
        x = self.self_attn_residual(x, lambda h: _attend_to_self(self.self_attn, h, attn_mask, position_ids))
        x = self.cross_attn_residual(x, lambda h: self.cross_attn(h, source_kv, source.attn_mask, position_ids))
        x = self.feed_forward_residual(x, self.feed_forward)
        return self.out(x)


def _attend_to_self(attention: Attention, x: Tensor, attn_mask: Tensor | None, position_ids: Tensor) -> Tensor:
    return attention(x, attention.project_kv(x, position_ids), attn_mask, position_ids)
