"""The feed-forward with relu, whose inner width is written once."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class _Feed(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, into: Tensor, into_bias: Tensor | None, out: Tensor) -> Tensor:
        inner = F.linear(x, into, into_bias).relu_()
        ctx.save_for_backward(x, into, inner, out)
        ctx.biased = into_bias is not None
        return F.linear(inner, out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, into, inner, out = ctx.saved_tensors
        d_out = grad.mT @ inner
        d_inner = grad @ out
        d_inner = torch.ops.aten.threshold_backward.grad_input(d_inner, inner, 0, grad_input=d_inner)
        return d_inner @ into, d_inner.mT @ x, d_inner.sum(dim=0) if ctx.biased else None, d_out


def feed_relu(x: Tensor, into: Tensor, into_bias: Tensor | None, out: Tensor, out_bias: Tensor | None) -> Tensor:
    """linear(relu(linear(x, into, into_bias)), out, out_bias) for tokens x (N, D)."""
    y: Tensor = _Feed.apply(x, into, into_bias, out)
    return y if out_bias is None else y + out_bias
