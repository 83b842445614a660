"""Muon: momentum whose every singular value is brought near 1.  Jordan et al. 2024.

torch has its own, whose iteration runs in bfloat16: right on a GPU, many times too slow on a CPU without such
instructions. This one runs in the precision of the weights.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""A quintic that pulls every singular value in (0, 1] to about 1 within a few rounds."""


def orthogonalize(g: Tensor, ns_steps: int = 5) -> Tensor:
    """Roughly U Vᵀ for g = U S Vᵀ, by Newton and Schulz's iteration: products only, no decomposition."""
    a, b, c = NS_COEFFICIENTS
    tall = g.shape[0] > g.shape[1]
    x = g.mT if tall else g
    x = x / (x.norm() + 1e-7)
    for _ in range(ns_steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """For matrices only: each step moves along the orthogonalised momentum."""

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
    ):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "rounds": ns_steps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update_parameter(p, group)

    def _update_parameter(self, p: nn.Parameter, group: dict[str, Any]) -> None:
        state = self.state[p]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(p)
        momentum = state["momentum_buffer"]  # torch's own name for it
        momentum.lerp_(p.grad, 1 - group["momentum"])
        nesterov_gradient = torch.lerp(p.grad, momentum, group["momentum"])  # type: ignore[arg-type]
        # A tall matrix moves further, so that its outputs change as much as a square one's.
        scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(orthogonalize(nesterov_gradient, group["rounds"]), alpha=-group["lr"] * scale)
