"""Operations with gradients of their own, where autograd would keep, copy or draw more than it needs to.

Each equals a line of plain PyTorch, which its docstring says and its test compares.
"""

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

Grads = tuple[Tensor | None, ...]


class Layout:
    """Which cells of a padded batch (B, T) hold its N real tokens."""

    def __init__(self, real: Tensor):
        flat = real.flatten()
        self.shape = real.shape
        self.cells = flat.nonzero()[:, 0]  # (N,) where each token stands
        self.at = self.cells % real.shape[1]  # (N,) its place in its row
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


class _Spread(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, layout: Layout, parts: int, heads: int) -> tuple[Tensor, ...]:
        ctx.layout = layout
        padded = layout.pad(x.unflatten(1, (parts, heads, -1)))  # (B, T, P, H, K)
        return padded.permute(2, 0, 3, 1, 4).contiguous().unbind(0)  # P times (B, H, T, K)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> Grads:
        padded = torch.stack([grad.transpose(1, 2) for grad in grads], dim=2)  # (B, T, P, H, K)
        return ctx.layout.pack(padded).flatten(1), None, None, None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, layout: Layout) -> Tensor:
        ctx.layout, ctx.heads = layout, x.shape[1]
        return layout.pack(x.transpose(1, 2)).flatten(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Grads:
        padded = ctx.layout.pad_gradient(grad.unflatten(1, (ctx.heads, -1)))  # (B, T, H, K)
        return padded.transpose(1, 2).contiguous(), None


def spread(x: Tensor, layout: Layout, parts: int, heads: int) -> tuple[Tensor, ...]:
    """What attention wants of tokens x (N, P·H·K): P tensors (B, H, T, K)."""
    return _Spread.apply(x, layout, parts, heads)


def gather(x: Tensor, layout: Layout) -> Tensor:
    """The real tokens of what attention gives: (B, H, T, K) -> (N, H·K)."""
    return _Gather.apply(x, layout)


class _Attend(Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, bias: Tensor | None) -> Tensor:
        scale = 1 / math.sqrt(q.shape[-1])
        scores = torch.matmul(q, k.mT).mul_(scale)  # (B, H, Tq, Tk)
        if bias is not None:
            scores += bias
        if hidden is not None:
            scores += hidden
        weights = scores.softmax(dim=-1)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale, ctx.bias = scale, None if bias is None else bias.shape
        return torch.matmul(weights, v)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Grads:
        q, k, v, weights = ctx.saved_tensors
        d_v = torch.matmul(weights.mT, grad)
        d_weights = torch.matmul(grad, v.mT)
        inner = (d_weights * weights).sum(dim=-1, keepdim=True)
        d_scores = d_weights.sub_(inner).mul_(weights)  # softmax: w · (g - Σ g w)
        d_bias = None if ctx.bias is None else d_scores.sum_to_size(ctx.bias)
        d_q = torch.matmul(d_scores, k).mul_(ctx.scale)
        d_k = torch.matmul(d_scores.mT, q).mul_(ctx.scale)
        return d_q, d_k, d_v, None, d_bias


def attend_kept(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor | None, bias: Tensor | None = None) -> Tensor:
    """`attend`, whose weights are kept for the way back: faster than the fused kernel while sentences are short.

    `hidden` is what `hide` makes of a mask.
    """
    return _Attend.apply(q, k, v, hidden, bias)


def hide(keep: Tensor, like: Tensor) -> Tensor:
    """A mask (True = may look) as numbers to add to scores."""
    # Not -inf: a row that may see nothing must stay finite. Half of the lowest, so that adding scores cannot overflow.
    lowest = torch.finfo(like.dtype).min / 2
    return torch.zeros(keep.shape, dtype=like.dtype, device=like.device).masked_fill_(~keep, lowest)


class _Feed(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, into: Tensor, into_bias: Tensor | None, out: Tensor) -> Tensor:
        inner = F.linear(x, into, into_bias).relu_()
        ctx.save_for_backward(x, into, inner, out)
        ctx.biased = into_bias is not None
        return F.linear(inner, out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Grads:
        x, into, inner, out = ctx.saved_tensors
        d_out = grad.mT @ inner
        d_inner = grad @ out
        d_inner = torch.ops.aten.threshold_backward.grad_input(d_inner, inner, 0, grad_input=d_inner)
        return d_inner @ into, d_inner.mT @ x, d_inner.sum(dim=0) if ctx.biased else None, d_out


def feed_relu(x: Tensor, into: Tensor, into_bias: Tensor | None, out: Tensor, out_bias: Tensor | None) -> Tensor:
    """linear(relu(linear(x, into, into_bias)), out, out_bias) for tokens x (N, D)."""
    y: Tensor = _Feed.apply(x, into, into_bias, out)
    return y if out_bias is None else y + out_bias


class _AddMasked(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return torch.addcmul(x, y, mask)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Grads:
        (mask,) = ctx.saved_tensors
        return grad, grad * mask, None


LEVELS = 1 << 16


class Noise:
    """Dropout whose masks come from sixteen random bits an element: a tenth of what a draw for each costs.

    It is seeded by torch's own generator, so whatever settles that settles this. A share is rounded to 1/65,536, and
    what is kept is scaled by the rounded share, so that means stay exact.
    """

    def __init__(self) -> None:
        self._bits = np.random.SFC64(int(torch.randint(2**62, ())))

    def mask(self, like: Tensor, share: float) -> Tensor:
        """A tensor of the same shape: 0 for `share` of its elements, and 1 / (1 - share) for the others."""
        count, cut = like.numel(), min(LEVELS - 1, round(share * LEVELS))
        bits = torch.from_numpy(self._bits.random_raw(-(-count // 4)).view(np.int16)[:count])
        kept = (bits >= cut - LEVELS // 2).view(like.shape)
        return kept.to(like.dtype).mul_(LEVELS / (LEVELS - cut))

    def add(self, x: Tensor, y: Tensor, share: float) -> Tensor:
        """x + dropout(y)"""
        return _AddMasked.apply(x, y, self.mask(y, share)) if share else x + y

    def drop(self, x: Tensor, share: float) -> Tensor:
        return x * self.mask(x, share) if share else x


class Silence:
    """No dropout, as when the model is not in training."""

    def add(self, x: Tensor, y: Tensor, share: float) -> Tensor:
        return x + y

    def drop(self, x: Tensor, share: float) -> Tensor:
        return x
