"""The layers around attention: norms, feed-forward, residuals, and the two layers made of them."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.attention import Attention, KeyValues
from regard.model.taps import Tap

Sublayer = Callable[[Tensor], Tensor]
ResidualAdd = Callable[[Tensor, Tensor, float], Tensor]


class LayerNorm(nn.Module):
    """(x - mean) / √(variance + ε) · gain + shift.  Ba et al. 2016."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


class RMSNorm(nn.Module):
    """x / √(mean of squares + ε) · gain: no centring, no shift.  Zhang and Sennrich 2019."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its approximation with tanh, as GPT-2 has it.  Hendrycks and Gimpel 2016."""
    return F.gelu(x, approximate="tanh")


class FeedForward(nn.Module):
    """out(f(into(x))): the same two linear maps for every token."""

    def __init__(self, dim: int, ffn: int, activation: Callable[[Tensor], Tensor], bias: bool, dropout: float):
        super().__init__()
        self.up = nn.Linear(dim, ffn, bias)
        self.down = nn.Linear(ffn, dim, bias)
        self.activation = activation
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = self.activation(self.up(x))  # (B, T, D) -> (B, T, F)
        return self.down(F.dropout(inner, self.dropout, self.training))


class GatedFeedForward(nn.Module):
    """out(silu(gate(x)) · into(x)), known as SwiGLU.  Shazeer 2020."""

    def __init__(self, dim: int, ffn: int, bias: bool, dropout: float):
        super().__init__()
        self.up = nn.Linear(dim, ffn, bias)
        self.gate = nn.Linear(dim, ffn, bias)
        self.down = nn.Linear(ffn, dim, bias)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = F.silu(self.gate(x)) * self.up(x)
        return self.down(F.dropout(inner, self.dropout, self.training))


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

    def forward(self, x: Tensor, sublayer: Sublayer, add: ResidualAdd | None = None) -> Tensor:
        return (add or self.add)(x, sublayer(self.norm(x)), self.dropout)


class PostNorm(Residual):
    """norm(x + dropout(f(x))).  Vaswani et al. 2017, section 5.4."""

    def forward(self, x: Tensor, sublayer: Sublayer, add: ResidualAdd | None = None) -> Tensor:
        return self.norm((add or self.add)(x, sublayer(x), self.dropout))


ExtendCache = Callable[[KeyValues], KeyValues]


def _without_cache(new: KeyValues) -> KeyValues:
    return new


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual. With a causal mask it is a language model's layer."""

    def __init__(self, self_attn: Attention, feed_forward: nn.Module, make_residual: Callable[[], nn.Module]):
        super().__init__()
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.self_attn_residual = make_residual()
        self.feed_forward_residual = make_residual()
        self.out = Tap()  # (B, S, D)

    def forward(
        self, x: Tensor, attn_mask: Tensor | None, position_ids: Tensor, extend_cache: ExtendCache = _without_cache
    ) -> Tensor:
        """x (B, T, D). `remember` adds the tokens before x that a cache holds."""
        x = self.self_attn_residual(
            x,
            lambda h: self.self_attn(
                h, extend_cache(self.self_attn.project_kv(h, position_ids)), attn_mask, position_ids
            ),
        )
        x = self.feed_forward_residual(x, self.feed_forward)
        return self.out(x)


class DecoderLayer(nn.Module):
    """Self-attention over the target so far, cross-attention over the source, then feed-forward."""

    def __init__(
        self,
        self_attn: Attention,
        cross_attn: Attention,
        feed_forward: nn.Module,
        make_residual: Callable[[], nn.Module],
    ):
        super().__init__()
        self.self_attn = self_attn
        self.cross_attn = cross_attn
        self.feed_forward = feed_forward
        self.self_attn_residual = make_residual()
        self.cross_attn_residual = make_residual()
        self.feed_forward_residual = make_residual()
        self.out = Tap()  # (B, T, D)

    def forward(
        self,
        x: Tensor,
        position_ids: Tensor,
        attn_mask: Tensor | None,
        extend_cache: ExtendCache,
        source_kv: KeyValues,
        source_attn_mask: Tensor,
    ) -> Tensor:
        """x (B, T, D). `remember` adds the tokens before x that a cache holds; `source` is what cross looks at."""
        x = self.self_attn_residual(
            x,
            lambda h: self.self_attn(
                h, extend_cache(self.self_attn.project_kv(h, position_ids)), attn_mask, position_ids
            ),
        )
        x = self.cross_attn_residual(x, lambda h: self.cross_attn(h, source_kv, source_attn_mask, position_ids))
        x = self.feed_forward_residual(x, self.feed_forward)
        return self.out(x)
