"""Projection and cross-entropy without ever holding all logits."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

CHUNK = 512  # tokens whose logits are in memory at a time: few enough to stay in a CPU's cache


class _Chunked(Function):
    """Projection, cross-entropy and the gradients of both, a few hundred tokens at a time."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, gold: Tensor, smoothing: float
    ) -> tuple[Tensor, ...]:
        d_states, d_weight = torch.empty_like(states), torch.zeros_like(weight)
        d_bias = None if bias is None else torch.zeros_like(bias)
        objective, loss, correct = (states.new_zeros(()) for _ in range(3))
        for start in range(0, len(states), CHUNK):
            rows = slice(start, start + CHUNK)
            logp = F.linear(states[rows], weight, bias).log_softmax(dim=-1)  # (C, V)
            right = logp.gather(1, gold[rows, None])
            own, spread = right.sum(), logp.sum() / len(weight)
            loss -= own
            objective -= (1 - smoothing) * own + smoothing * spread
            correct += (right >= logp.amax(dim=-1, keepdim=True)).sum()
            # What pulls at the logits: what is predicted less what was wanted.
            pull = logp.exp_().sub_(smoothing / len(weight))
            pull.scatter_add_(1, gold[rows, None], pull.new_full((len(pull), 1), smoothing - 1))
            torch.mm(pull, weight, out=d_states[rows])
            d_weight.addmm_(pull.mT, states[rows])
            if d_bias is not None:
                d_bias += pull.sum(dim=0)
        ctx.save_for_backward(d_states, d_weight, d_bias)
        ctx.mark_non_differentiable(loss, correct)
        return objective, loss, correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_weight, d_bias = ctx.saved_tensors
        return d_states.mul_(grad), d_weight.mul_(grad), None if d_bias is None else d_bias.mul_(grad), None, None


def chunked_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, gold: Tensor, smoothing: float
) -> tuple[Tensor, ...]:
    """States (N, D), a projection (V, D), (V,) and what should be predicted (N,) -> three sums over the N tokens:

    cross_entropy(states @ weight.T + bias, gold) with label smoothing, the same without it, and how many were right.
    """
    return _Chunked.apply(states, weight, bias, gold, smoothing)
