"""Norm-based analysis: attention weights times the norm of the transformed values.  Kobayashi et al. 2020.

Norms do not add up; the signed share of each key in the output does.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.inspection.flow.decompose import apply_frozen_norm
from regard.inspection.trace import AttentionTrace
from regard.model.layers import LayerNorm, PostNorm


@torch.no_grad()
def value_contributions(attn: AttentionTrace) -> Tensor:
    """f_h(x_j) = v_j W_O of each head and key, without the output bias: (H, Tk, D)."""
    return attn.v @ _output_projection(attn)


def value_norms(attn: AttentionTrace) -> Tensor:
    """||f_h(x_j)||: (H, Tk), without relative position embeddings of values, which depend on the query as well."""
    return value_contributions(attn).norm(dim=-1)


@torch.no_grad()
def head_contributions(attn: AttentionTrace, key: int) -> Tensor:
    """α_ij f_h(x_j), what each query takes from one key, by head: (H, Tq, D). With the output bias their sum over heads
    and keys is the attention output.

    The relative position embedding of the value (Shaw et al. 2018) is part of it: α_ij (v_j + a_ij) W_O.
    """
    weights, positions = attn.weights[:, :, key], attn.site.attention.positions
    values = weights[..., None] * attn.v[:, key, None]  # (H, Tq, K)
    if positions.adds_to_values:
        one_key = torch.zeros_like(attn.weights)
        one_key[:, :, key] = weights
        values = values + positions.value_bias(one_key[None], attn.query_position_ids, attn.key_position_ids)[0]
    return values @ _output_projection(attn)


def value_weighted_norms(attn: AttentionTrace) -> Tensor:
    """||α f(x)||: the norm of what each query takes from each key, by head: (H, Tq, Tk)."""
    if not attn.site.attention.positions.adds_to_values:
        return attn.weights * value_norms(attn)[:, None, :]  # the same, without (H, Tq, Tk, D) numbers
    return torch.stack([head_contributions(attn, key).norm(dim=-1) for key in _keys(attn)], dim=-1)


@torch.no_grad()
def key_contributions(attn: AttentionTrace) -> Tensor:
    """F_ij = Σ_h α_ij f_h(x_j), summed over heads: (Tq, Tk, D). With the output bias they sum to the attention output.

    Relative position embeddings of values (Shaw et al. 2018) are attributed to their key.
    """
    if not attn.site.attention.positions.adds_to_values:
        return torch.einsum("hij,hjd->ijd", attn.weights, value_contributions(attn))
    return torch.stack([head_contributions(attn, key).sum(dim=0) for key in _keys(attn)], dim=1)


def _keys(attn: AttentionTrace) -> range:
    return range(attn.weights.shape[-1])


@dataclass(frozen=True)
class LayerContributions:
    """Attention with its residual connection, as contributions of each key to each query."""

    by_key: Tensor
    """(Tq, Tk, D): contributions of the keys; in self-attention the residual is on the diagonal."""
    residual: Tensor
    """(Tq, D): the residual of cross-attention; 0 in self-attention."""
    bias: Tensor
    """(D,) or (Tq, D): biases, which come from no key."""

    def sum(self) -> Tensor:
        """The output of the sublayer."""
        return self.by_key.sum(dim=1) + self.residual + self.bias


@torch.no_grad()
def layer_contributions(attn: AttentionTrace) -> LayerContributions:
    """Attention, residual and, in a post-norm layer, the norm with its deviation frozen.  Kobayashi et al. 2021."""
    by_key, attention = key_contributions(attn), attn.site.attention
    bias: Tensor = attn.residual_stream.new_zeros(attn.residual_stream.shape[-1])
    bias = bias if attention.out_proj.bias is None else attention.out_proj.bias
    residual = attn.residual_stream
    if isinstance(attn.site.residual, PostNorm):
        norm, pre_norm_sum = attn.site.residual.norm, attn.residual_stream + attn.out
        by_key = apply_frozen_norm(norm, pre_norm_sum[:, None], by_key)
        residual = apply_frozen_norm(norm, pre_norm_sum, residual)
        bias = apply_frozen_norm(norm, pre_norm_sum, bias.expand_as(pre_norm_sum))
        bias = bias + norm.bias if isinstance(norm, LayerNorm) else bias
    if attn.site.kind == "cross":
        return LayerContributions(by_key, residual, bias)
    by_key = by_key + torch.diag_embed(residual.T).permute(1, 2, 0)  # the residual joins the diagonal
    return LayerContributions(by_key, torch.zeros_like(residual), bias)


def mixing_ratio(attn: AttentionTrace) -> Tensor:
    """r_i = ||Σ_{j≠i} F_ij|| / (||Σ_{j≠i} F_ij|| + ||F_ii||), the context-mixing ratio: (Tq,).

    In cross-attention all keys are context, and the residual is what is preserved.
    """
    decomposition = layer_contributions(attn)
    if attn.site.kind == "cross":
        context, preserved = decomposition.by_key.sum(dim=1), decomposition.residual
    else:
        preserved = decomposition.by_key.diagonal(dim1=0, dim2=1).T
        context = decomposition.by_key.sum(dim=1) - preserved
    context_norm, preserved_norm = context.norm(dim=-1), preserved.norm(dim=-1)
    return context_norm / (context_norm + preserved_norm).clamp(min=1e-30)


@torch.no_grad()
def signed_shares(attn: AttentionTrace) -> Tensor:
    """<F_hij, y_i> / ||y_i||²: the share of each head and key in the attention output: (H, Tq, Tk).

    Over heads and keys it sums to 1 with the share of the output bias; a share below 0 works against the sum.
    """
    y = attn.out
    if attn.site.attention.positions.adds_to_values:
        rows = [(head_contributions(attn, key) * y).sum(dim=-1) for key in _keys(attn)]
        projections = torch.stack(rows, dim=-1)
    else:
        projections = attn.weights * torch.einsum("hjd,id->hij", value_contributions(attn), y)
    return projections / y.pow(2).sum(dim=-1)[:, None].clamp(min=1e-30)


def _output_projection(attn: AttentionTrace) -> Tensor:
    """W_O of each head: (H, K, D)."""
    attention = attn.site.attention
    return attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.head_dim))
