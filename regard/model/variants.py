"""Parts that a model may have instead of those of 2017."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model.layers import PreNorm, Sublayer
from regard.model.transformer import NoTokenTypes


class RMSNorm(nn.Module):
    """x / √(mean of squares + ε) · weight: no centering, no bias.  Zhang and Sennrich 2019."""

    def __init__(self, dim: int, epsilon: float):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)


class NoResidual(PreNorm):
    """f(norm(x)): the input is not added."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return sublayer(self.before(x))


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its approximation with tanh, as GPT-2 has it.  Hendrycks and Gimpel 2016."""
    return F.gelu(x, approximate="tanh")


class GatedFeedForward(nn.Module):
    """down(silu(gate(x)) · up(x)), known as SwiGLU.  Shazeer 2020."""

    def __init__(self, dim: int, ffn: int, bias: bool, dropout: float):
        super().__init__()
        self.up = nn.Linear(dim, ffn, bias)
        self.gate = nn.Linear(dim, ffn, bias)
        self.down = nn.Linear(ffn, dim, bias)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = F.silu(self.gate(x)) * self.up(x)
        return self.down(F.dropout(inner, self.dropout, self.training))


def hard_attention(scores: Tensor, attn_mask: Tensor | None = None) -> Tensor:
    """All weight on the best key that a query may attend to, the first of several; 0 everywhere if there is none."""
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    best = scores == scores.amax(dim=-1, keepdim=True)
    first_best = best & (best.cumsum(dim=-1) == 1)
    return (first_best if attn_mask is None else first_best & attn_mask).to(scores.dtype)


class TokenTypes(NoTokenTypes):
    """A vector for each token type, added to the embeddings.  Devlin et al. 2019, section 3."""

    def __init__(self, count: int, dim: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(count, dim))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, x: Tensor, token_type_ids: Tensor | None) -> Tensor:
        return x + (self.table[0] if token_type_ids is None else self.table[token_type_ids])
