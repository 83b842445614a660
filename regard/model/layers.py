"""The layers around attention: norms, feed-forward, residuals, and the two layers made of them."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.attention import Attention, KeyValues
from regard.model.taps import Tap

Sublayer = Callable[[Tensor], Tensor]
Add = Callable[[Tensor, Tensor, float], Tensor]


class LayerNorm(nn.Module):
    """(x - mean) / √(variance + ε) · gain + shift.  Ba et al. 2016."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(torch.ones(dim))
        self.shift = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.gain.shape, self.gain, self.shift, self.epsilon)


class RMSNorm(nn.Module):
    """x / √(mean of squares + ε) · gain: no centring, no shift.  Zhang and Sennrich 2019."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.gain.shape, self.gain, self.epsilon)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its approximation with tanh, as GPT-2 has it.  Hendrycks and Gimpel 2016."""
    return F.gelu(x, approximate="tanh")


class FeedForward(nn.Module):
    """out(f(into(x))): the same two linear maps for every token."""

    def __init__(self, dim: int, ffn: int, activation: Callable[[Tensor], Tensor], bias: bool, dropout: float):
        super().__init__()
        self.into = nn.Linear(dim, ffn, bias)
        self.out = nn.Linear(ffn, dim, bias)
        self.activation = activation
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = self.activation(self.into(x))  # (B, T, D) -> (B, T, F)
        return self.out(F.dropout(inner, self.dropout, self.training))


class GatedFeedForward(nn.Module):
    """out(silu(gate(x)) · into(x)), known as SwiGLU.  Shazeer 2020."""

    def __init__(self, dim: int, ffn: int, bias: bool, dropout: float):
        super().__init__()
        self.into = nn.Linear(dim, ffn, bias)
        self.gate = nn.Linear(dim, ffn, bias)
        self.out = nn.Linear(ffn, dim, bias)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = F.silu(self.gate(x)) * self.into(x)
        return self.out(F.dropout(inner, self.dropout, self.training))


class Residual(nn.Module):
    """What goes around a sublayer. `add` is how x + dropout(y) is done, where it is to be done otherwise than here."""

    def __init__(self, norm: nn.Module, dropout: float):
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def add(self, x: Tensor, y: Tensor, dropout: float) -> Tensor:
        return x + F.dropout(y, dropout, self.training)


class PreNorm(Residual):
    """x + dropout(f(norm(x))): the residual stream is never normalised, so it trains without care."""

    def forward(self, x: Tensor, sublayer: Sublayer, add: Add | None = None) -> Tensor:
        return (add or self.add)(x, sublayer(self.norm(x)), self.dropout)


class PostNorm(Residual):
    """norm(x + dropout(f(x))).  Vaswani et al. 2017, section 5.4."""

    def forward(self, x: Tensor, sublayer: Sublayer, add: Add | None = None) -> Tensor:
        return self.norm((add or self.add)(x, sublayer(x), self.dropout))


Remember = Callable[[KeyValues], KeyValues]


def _only_these(new: KeyValues) -> KeyValues:
    return new


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual. With a causal mask it is a language model's layer."""

    def __init__(self, attention: Attention, feed: nn.Module, residual: Callable[[], nn.Module]):
        super().__init__()
        self.self = attention
        self.feed = feed
        self.around_self = residual()
        self.around_feed = residual()
        self.out = Tap()  # (B, S, D)

    def forward(self, x: Tensor, keep: Tensor | None, at: Tensor, remember: Remember = _only_these) -> Tensor:
        """x (B, T, D). `remember` adds the tokens before x that a cache holds."""
        x = self.around_self(x, lambda h: self.self(h, remember(self.self.look_at(h, at)), keep, at))
        x = self.around_feed(x, self.feed)
        return self.out(x)


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, cross-attention over the source, then feed-forward."""

    def __init__(self, attention: Attention, cross: Attention, feed: nn.Module, residual: Callable[[], nn.Module]):
        super().__init__()
        self.self = attention
        self.cross = cross
        self.feed = feed
        self.around_self = residual()
        self.around_cross = residual()
        self.around_feed = residual()
        self.out = Tap()  # (B, T, D)

    def forward(
        self,
        x: Tensor,
        at: Tensor,
        keep: Tensor | None,
        remember: Remember,
        source: KeyValues,
        source_keep: Tensor,
    ) -> Tensor:
        """x (B, T, D). `remember` adds the tokens before x that a cache holds; `source` is what cross looks at."""
        x = self.around_self(x, lambda h: self.self(h, remember(self.self.look_at(h, at)), keep, at))
        x = self.around_cross(x, lambda h: self.cross(h, source, source_keep, at))
        x = self.around_feed(x, self.feed)
        return self.out(x)
