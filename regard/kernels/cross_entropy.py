"""Projection and cross-entropy without ever holding all logits."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

CHUNK = 512  # tokens whose logits are in memory at a time: few enough to stay in a CPU's cache


class _ChunkedCrossEntropy(Function):
    """Projection, cross-entropy and the gradients of both, a few hundred tokens at a time."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None, gold: Tensor, label_smoothing: float
    ) -> tuple[Tensor, ...]:
        d_states, d_weight = torch.empty_like(states), torch.zeros_like(weight)
        d_bias = None if bias is None else torch.zeros_like(bias)
        objective, loss, correct = (states.new_zeros(()) for _ in range(3))
        for start in range(0, len(states), CHUNK):
            rows = slice(start, start + CHUNK)
            logp = F.linear(states[rows], weight, bias).log_softmax(dim=-1)  # (C, V)
            gold_logp = logp.gather(1, gold[rows, None])
            gold_sum, uniform_sum = gold_logp.sum(), logp.sum() / len(weight)
            loss -= gold_sum
            objective -= (1 - label_smoothing) * gold_sum + label_smoothing * uniform_sum
            correct += (gold_logp >= logp.amax(dim=-1, keepdim=True)).sum()
            # The gradient of the logits: predicted minus smoothed target probabilities.
            d_logits = logp.exp_().sub_(label_smoothing / len(weight))
            d_logits.scatter_add_(1, gold[rows, None], d_logits.new_full((len(d_logits), 1), label_smoothing - 1))
            torch.mm(d_logits, weight, out=d_states[rows])
            d_weight.addmm_(d_logits.mT, states[rows])
            if d_bias is not None:
                d_bias += d_logits.sum(dim=0)
        ctx.save_for_backward(d_states, d_weight, d_bias)
        ctx.mark_non_differentiable(loss, correct)
        return objective, loss, correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_weight, d_bias = ctx.saved_tensors
        return d_states.mul_(grad), d_weight.mul_(grad), None if d_bias is None else d_bias.mul_(grad), None, None


def chunked_cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, gold: Tensor, label_smoothing: float
) -> tuple[Tensor, ...]:
    """States (N, D), a projection (V, D), (V,) and labels (N,) -> three sums over the N tokens:

    cross_entropy(states @ weight.T + bias, gold) with label smoothing, the same without it, and how many were right.
    """
    return _ChunkedCrossEntropy.apply(states, weight, bias, gold, label_smoothing)
