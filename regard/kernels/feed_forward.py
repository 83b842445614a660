"""The feed-forward layer with relu, in place: its inner activations are written once."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class _FeedForwardReLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, up: Tensor, up_bias: Tensor | None, down: Tensor) -> Tensor:
        inner = F.linear(x, up, up_bias).relu_()
        ctx.save_for_backward(x, up, inner, down)
        ctx.biased = up_bias is not None
        return F.linear(inner, down)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, up, inner, down = ctx.saved_tensors
        d_down = grad.mT @ inner
        d_inner = grad @ down
        d_inner = torch.ops.aten.threshold_backward.grad_input(d_inner, inner, 0, grad_input=d_inner)
        return d_inner @ up, d_inner.mT @ x, d_inner.sum(dim=0) if ctx.biased else None, d_down


def feed_forward_relu(x: Tensor, up: Tensor, up_bias: Tensor | None, down: Tensor, down_bias: Tensor | None) -> Tensor:
    """linear(relu(linear(x, into, into_bias)), out, out_bias) for tokens x (N, D)."""
    y: Tensor = _FeedForwardReLU.apply(x, up, up_bias, down)
    return y if down_bias is None else y + down_bias
