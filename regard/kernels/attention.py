"""Attention that saves its weights for the backward pass."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class _AttentionSavedWeights(Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, additive_mask: Tensor | None, bias: Tensor | None) -> Tensor:
        weights = _weights(q, k, additive_mask, bias)
        ctx.save_for_backward(q, k, v, weights)
        ctx.bias = None if bias is None else bias.shape
        return torch.matmul(weights, v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors
        scale = _scale(q)
        d_v = torch.matmul(weights.mT, grad)
        d_weights = torch.matmul(grad, v.mT)
        inner = (d_weights * weights).sum(dim=-1, keepdim=True)
        d_scores = d_weights.sub_(inner).mul_(weights)  # softmax: w · (g - Σ g w)
        d_bias = None if ctx.bias is None else d_scores.sum_to_size(ctx.bias)
        d_q = torch.matmul(d_scores, k).mul_(scale)
        d_k = torch.matmul(d_scores.mT, q).mul_(scale)
        return d_q, d_k, d_v, None, d_bias


def attention_saved_weights(
    q: Tensor, k: Tensor, v: Tensor, additive_mask: Tensor | None, bias: Tensor | None = None
) -> Tensor:
    """`attend` that saves its weights for the backward pass: faster than the fused kernel while sentences are short.

    `additive_mask` is what `to_additive_mask` makes of a mask. Without gradients nothing is saved.
    """
    if torch.is_grad_enabled():
        return _AttentionSavedWeights.apply(q, k, v, additive_mask, bias)
    return torch.matmul(_weights(q, k, additive_mask, bias), v)


def _weights(q: Tensor, k: Tensor, additive_mask: Tensor | None, bias: Tensor | None) -> Tensor:
    scores = torch.matmul(q, k.mT).mul_(_scale(q))  # (B, H, Tq, Tk)
    if bias is not None:
        scores += bias
    if additive_mask is not None:
        scores += additive_mask
    return scores.softmax(dim=-1)


def _scale(q: Tensor) -> float:
    return 1 / math.sqrt(q.shape[-1])


def to_additive_mask(attn_mask: Tensor, like: Tensor) -> Tensor:
    """A mask (True = may attend) as numbers to add to scores."""
    # Not -inf: a row that is all masked must stay finite. Half of the lowest, so that adding scores cannot overflow.
    lowest = torch.finfo(like.dtype).min / 2
    return torch.zeros(attn_mask.shape, dtype=like.dtype, device=like.device).masked_fill_(~attn_mask, lowest)
