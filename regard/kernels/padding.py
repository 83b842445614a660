"""From padded batches to their tokens, and back."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class PaddingLayout:
    """Which cells of a padded batch (B, T) hold its N tokens."""

    def __init__(self, attention_mask: Tensor):
        flat = attention_mask.flatten()
        self.shape = attention_mask.shape
        self.cells = flat.nonzero()[:, 0]  # (N,) the cell of each token
        self.full = len(self.cells) == len(flat)
        # (B·T,) the token of each cell. Padding gets a copy of some token: finite, masked, and without gradient.
        self.tokens = (flat.cumsum(0) - 1).clamp(min=0)

    def pad(self, x: Tensor) -> Tensor:
        """(N, …) -> (B, T, …)"""
        rows = x if self.full else x.index_select(0, self.tokens)
        return rows.unflatten(0, self.shape)

    def pack(self, x: Tensor) -> Tensor:
        """(B, T, …) -> (N, …)"""
        rows = x.flatten(0, 1)
        return rows if self.full else rows.index_select(0, self.cells)

    def pad_gradient(self, x: Tensor) -> Tensor:
        """(N, …) -> (B, T, …), where padding gets nothing."""
        if self.full:
            return x.unflatten(0, self.shape)
        rows = x.new_zeros(len(self.tokens), *x.shape[1:])
        return rows.index_copy_(0, self.cells, x).unflatten(0, self.shape)


class _UnpackHeads(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, layout: PaddingLayout, parts: int, heads: int) -> tuple[Tensor, ...]:
        ctx.layout = layout
        return _split_parts(x, layout, parts, heads).contiguous().unbind(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        padded = torch.stack([grad.transpose(1, 2) for grad in grads], dim=2)  # (B, T, P, H, K)
        return ctx.layout.pack(padded).flatten(1), None, None, None


class _PackHeads(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, layout: PaddingLayout) -> Tensor:
        ctx.layout, ctx.heads = layout, x.shape[1]
        return layout.pack(x.transpose(1, 2)).flatten(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        padded = ctx.layout.pad_gradient(grad.unflatten(1, (ctx.heads, -1)))  # (B, T, H, K)
        return padded.transpose(1, 2).contiguous(), None


def unpack_heads(x: Tensor, layout: PaddingLayout, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Projections of tokens x (N, P·H·K) for attention: P tensors (B, H, T, K).

    Where gradients are off they share one memory: the fused kernel reads it as it is.
    """
    if torch.is_grad_enabled():
        return _UnpackHeads.apply(x, layout, parts, heads)
    return _split_parts(x, layout, parts, heads).unbind(0)


def _split_parts(x: Tensor, layout: PaddingLayout, parts: int, heads: int) -> Tensor:
    """(N, P·H·K) -> (P, B, H, T, K)"""
    return layout.pad(x.unflatten(1, (parts, heads, -1))).permute(2, 0, 3, 1, 4)


def pack_heads(x: Tensor, layout: PaddingLayout) -> Tensor:
    """The head outputs of the tokens alone: (B, H, T, K) -> (N, H·K)."""
    return _PackHeads.apply(x, layout)
