"""What heads hand over, not only where they look: weights times the length of what is taken.  Kobayashi et al. 2020.

Lengths do not add up. So beside them stands the signed share of each key in the output, which does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.inspection.flow.decompose import frozen
from regard.inspection.trace import Look
from regard.model.layers import LayerNorm, PostNorm


@torch.no_grad()
def handed(look: Look) -> Tensor:
    """f_h(x_j) = v_j W_O of each head and key, without the output's bias: (H, Tk, D)."""
    return look.v @ _out(look)


def value_norms(look: Look) -> Tensor:
    """||f_h(x_j)||: (H, Tk)."""
    return handed(look).norm(dim=-1)


def norms(look: Look) -> Tensor:
    """||α f(x)||: how much each query really takes from each key, by head: (H, Tq, Tk)."""
    return look.weights * value_norms(look)[:, None, :]


@torch.no_grad()
def contributions(look: Look) -> Tensor:
    """F_ij = Σ_h α_ij f_h(x_j), the whole layer: (Tq, Tk, D). With the output's bias they sum to what attention gives.

    Schemes that add to the values (Shaw's) do so by distance: that part goes to the key it comes from.
    """
    every = torch.einsum("hij,hjd->ijd", look.weights, handed(look))
    for j, added in _mixed_in(look):
        every[:, j] += torch.einsum("hik,hkd->id", added, _out(look))
    return every


def _mixed_in(look: Look) -> Iterator[tuple[int, Tensor]]:
    """Key by key, what a scheme adds to a mix that has all of a query's weight on this key alone: (H, Tq, K)."""
    positions = look.site.attention.positions
    if positions.adds_to_values:
        apart = torch.eye(look.weights.shape[-1], device=look.weights.device, dtype=look.weights.dtype)
        for j, one in enumerate(apart):
            yield j, positions.value_bias((look.weights * one)[None], look.at, look.seen_at)[0]


@dataclass(frozen=True)
class Layer:
    """Attention with the residual around it, as what each query gets from each key."""

    parts: Tensor
    """(Tq, Tk, D): what comes from each key; the residual is the query's own."""
    own: Tensor
    """(Tq, D): the residual, where the keys are another sequence; else part of the diagonal already."""
    bias: Tensor
    """(D,) or (Tq, D): what comes from nowhere."""

    def sum(self) -> Tensor:
        """What the residual hands on."""
        return self.parts.sum(dim=1) + self.own + self.bias


@torch.no_grad()
def layer(look: Look) -> Layer:
    """Attention, residual and, after the sum, the norm: with its deviation frozen.  Kobayashi et al. 2021."""
    parts, attention = contributions(look), look.site.attention
    bias: Tensor = look.stream.new_zeros(look.stream.shape[-1])
    bias = bias if attention.out_proj.bias is None else attention.out_proj.bias
    own = look.stream
    if isinstance(look.site.around, PostNorm):
        norm, whole = look.site.around.norm, look.stream + look.out
        parts = frozen(norm, whole[:, None], parts)
        own = frozen(norm, whole, own)
        bias = frozen(norm, whole, bias.expand_as(whole))
        bias = bias + norm.bias if isinstance(norm, LayerNorm) else bias
    if look.site.kind == "cross":
        return Layer(parts, own, bias)
    parts = parts + torch.diag_embed(own.T).permute(1, 2, 0)  # the residual joins the diagonal
    return Layer(parts, torch.zeros_like(own), bias)


def mixing(look: Look) -> Tensor:
    """r_i = ||Σ_{j≠i} F_ij|| / (||Σ_{j≠i} F_ij|| + ||F_ii||): how much of a token is not its own: (Tq,).

    In cross-attention all keys are others, and what is the token's own is the residual.
    """
    whole = layer(look)
    if look.site.kind == "cross":
        others, own = whole.parts.sum(dim=1), whole.own
    else:
        own = whole.parts.diagonal(dim1=0, dim2=1).T
        others = whole.parts.sum(dim=1) - own
    top, bottom = others.norm(dim=-1), own.norm(dim=-1)
    return top / (top + bottom).clamp(min=1e-30)


@torch.no_grad()
def signed(look: Look) -> Tensor:
    """<F_hij, y_i> / ||y_i||²: the share of each head and key in what attention gives: (H, Tq, Tk).

    Over heads and keys it sums to 1 with the share of the output's bias; below 0 is what works against the sum.
    """
    y = look.out
    along = look.weights * torch.einsum("hjd,id->hij", handed(look), y)
    for j, added in _mixed_in(look):
        along[:, :, j] += torch.einsum("hik,hkd,id->hi", added, _out(look), y)
    return along / y.pow(2).sum(dim=-1)[:, None].clamp(min=1e-30)


def _out(look: Look) -> Tensor:
    """W_O as each head has it: (H, K, D)."""
    attention = look.site.attention
    return attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.head_dim))
