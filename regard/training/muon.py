"""Muon: momentum orthogonalized by a Newton-Schulz iteration.  Jordan et al. 2024.

torch.optim.Muon iterates in bfloat16, which is right on a GPU and many times too slow on a CPU without bfloat16
instructions. This one iterates in the precision of the weights.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""A quintic polynomial that moves every singular value in (0, 1] to about 1 within a few iterations."""


def orthogonalize(g: Tensor, ns_steps: int = 5) -> Tensor:
    """Approximately U Vᵀ for g = U S Vᵀ, by the Newton-Schulz iteration: matrix products only, no decomposition."""
    a, b, c = NS_COEFFICIENTS
    tall = g.shape[0] > g.shape[1]
    x = g.mT if tall else g
    x = x / (x.norm() + 1e-7)
    for _ in range(ns_steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """For matrices only: each step moves along the orthogonalized momentum."""

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        ns_steps: int = 5,
    ):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "ns_steps": ns_steps})

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
        momentum = state["momentum_buffer"]  # the name in torch.optim.Muon
        momentum.lerp_(p.grad, 1 - group["momentum"])
        nesterov_gradient = torch.lerp(p.grad, momentum, group["momentum"])  # type: ignore[arg-type]
        # A tall matrix gets a larger step, so that its outputs change as much as those of a square one.
        scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
        p.mul_(1 - group["lr"] * group["weight_decay"])
        p.add_(orthogonalize(nesterov_gradient, group["ns_steps"]), alpha=-group["lr"] * scale)
