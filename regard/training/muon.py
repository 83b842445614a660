"""Muon: momentum orthogonalized by a Newton-Schulz iteration.  Jordan et al. 2024.

torch.optim.Muon iterates in bfloat16 and one matrix at a time. This one takes matrices of the same shape together, and
by default iterates in the precision of the weights, as most CPUs have no instructions for bfloat16.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Polynomial = tuple[float, float, float]
"""a, b, c of a s + b s³ + c s⁵, which an iteration applies to every singular value s."""
JORDAN: Polynomial = (3.4445, -4.7750, 2.0315)
"""Moves every singular value in (0, 1] to about 1 within a few iterations."""
MAX_ELEMENTS = 2**17  # of matrices that are iterated together: half a megabyte, which stays in a core's cache
TOLERANCE = 0.2  # distance from 1 within which the polynomials of `polar_express` bring singular values
ROUNDING_MARGIN = 1.05  # by which bfloat16 may take a singular value out of its interval, where polynomials explode


@dataclass(frozen=True)
class NewtonSchulz:
    """Approximately U Vᵀ for every matrix U S Vᵀ of a stack: matrix products only, no decomposition."""

    polynomials: tuple[Polynomial, ...] = 5 * (JORDAN,)
    tight: bool = False
    """Scale by a bound of the largest singular value that is far below the Frobenius norm."""
    dtype: torch.dtype | None = None
    """In which products are computed; None: as the matrices are."""

    def __call__(self, g: Tensor) -> Tensor:
        """Matrices (N, R, C) -> the same shape; a product with the small side inside is the cheaper one."""
        tall = g.shape[1] > g.shape[2]
        wide = g.mT if tall else g
        x = (wide / (wide.norm(dim=(1, 2), keepdim=True) + 1e-7)).to(self.dtype or g.dtype)
        for number, (a, b, c) in enumerate(self.polynomials):
            gram = torch.bmm(x, x.mT)  # (N, R, R)
            square = torch.bmm(gram, gram)
            if self.tight and number == 0:
                x, gram, square = _scale_to_bound(x, gram, square)
            x = torch.baddbmm(x, square.mul_(c).add_(gram, alpha=b), x, beta=a)
        return (x.mT if tall else x).to(g.dtype)


def _scale_to_bound(x: Tensor, gram: Tensor, square: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x, x xᵀ and (x xᵀ)², all divided as x is by the bound (Σ s⁸)^(1/8) of its largest singular value s."""
    bound = square.float().norm(dim=(1, 2), keepdim=True).clamp_(min=1e-30).pow_(0.25)
    return tuple((tensor / bound**power).to(x.dtype) for tensor, power in ((x, 1), (gram, 2), (square, 4)))


@cache
def polar_express(iterations: int) -> tuple[Polynomial, ...]:
    """A polynomial for each iteration, each the best one for what those before it leave.  Amsel et al. 2025.

    Together they bring the largest interval [low, 1] that is possible within `TOLERANCE` of 1.
    """
    low, high = 1e-9, 1.0
    for _ in range(40):  # the middle on a logarithmic scale
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _compose(middle, iterations)[1] > TOLERANCE else (low, middle)
    return _compose(high, iterations)[0]


def _compose(low: float, iterations: int) -> tuple[tuple[Polynomial, ...], float]:
    """The polynomials for singular values from `low` to 1, and how far from 1 they leave them at most."""
    polynomials, high, error = [], ROUNDING_MARGIN, 1.0 - low
    for _ in range(iterations):
        polynomial, error = minimax_quintic(low, high)
        polynomials.append(polynomial)
        low, high = 1 - error, (1 + error) * ROUNDING_MARGIN
    return tuple(polynomials), error


def minimax_quintic(low: float, high: float) -> tuple[Polynomial, float]:
    """The odd quintic whose largest distance from 1 over an interval is least, and that distance.

    By Remez: its error is as large, with alternating signs, at both ends and at the two extrema between them.
    """
    left, right = low + (high - low) / 3, low + 2 * (high - low) / 3
    a = b = c = error = 0.0
    for _ in range(20):
        points = np.array([low, left, right, high])
        equations = np.stack([points, points**3, points**5, [1, -1, 1, -1]], axis=1)
        a, b, c, error = (float(value) for value in np.linalg.solve(equations, np.ones(4)))
        root = math.sqrt(max(0.0, 9 * b * b - 20 * a * c))
        extrema = (math.sqrt(max(0.0, (-3 * b + sign * root) / (10 * c))) for sign in (-1, 1))
        previous, (left, right) = (left, right), (min(max(extremum, low), high) for extremum in extrema)
        has_converged = abs(left - previous[0]) + abs(right - previous[1]) < 1e-12
        if has_converged or min(left - low, right - left, high - right) < 1e-9:  # or as narrow as rounding
            break
    return (a, b, c), abs(error)


Blocks = Callable[[Tensor], Tensor]
"""A view of a matrix as the blocks (N, R, C) that are orthogonalized for themselves."""


def whole(matrix: Tensor) -> Tensor:
    """The matrix is one block."""
    return matrix[None]


@dataclass(frozen=True)
class HeadRows:
    """The rows of each head of a query, key or value projection: (H·K, D) -> (H, K, D)."""

    heads: int

    def __call__(self, matrix: Tensor) -> Tensor:
        return matrix.unflatten(0, (self.heads, -1))


@dataclass(frozen=True)
class HeadColumns:
    """The columns of each head of an output projection: (D, H·K) -> (H, D, K)."""

    heads: int

    def __call__(self, matrix: Tensor) -> Tensor:
        return matrix.unflatten(1, (self.heads, -1)).transpose(0, 1)


class Muon(torch.optim.Optimizer):
    """For matrices only: each step moves along the orthogonalized momentum.

    A group of parameters may have `blocks` of its own.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        lr: float,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        orthogonalize: Callable[[Tensor], Tensor] = NewtonSchulz(),
    ):
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "blocks": whole}
        super().__init__(params, defaults)
        self.orthogonalize = orthogonalize

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameters in _stackable([p for p in group["params"] if p.grad is not None]):
                self._update(parameters, group)

    def _update(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        """Update matrices of one shape."""
        blocks: Blocks = group["blocks"]
        momenta = [self._momentum(p) for p in parameters]
        gradients = [p.grad for p in parameters if p.grad is not None]
        torch._foreach_lerp_(momenta, gradients, 1 - group["momentum"])
        nesterov_gradients = torch._foreach_lerp(gradients, momenta, group["momentum"])
        directions = self.orthogonalize(torch.cat([blocks(gradient) for gradient in nesterov_gradients]))
        # A tall matrix gets a larger step, so that its outputs change as much as those of a square one.
        rows, columns = parameters[0].shape
        scale = max(1.0, rows / columns) ** 0.5
        torch._foreach_mul_(tuple(parameters), 1 - group["lr"] * group["weight_decay"])
        views = [blocks(p) for p in parameters]
        torch._foreach_add_(views, directions.split(len(views[0])), alpha=-group["lr"] * scale)

    def _momentum(self, p: nn.Parameter) -> Tensor:
        state = self.state[p]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(p)  # the name in torch.optim.Muon
        return state["momentum_buffer"]


def _stackable(parameters: list[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """Parameters of the same shape, as many together as stay in the cache."""
    by_shape: dict[torch.Size, list[nn.Parameter]] = {}
    for p in parameters:
        by_shape.setdefault(p.shape, []).append(p)
    for shape, alike in by_shape.items():
        count = max(1, MAX_ELEMENTS // shape.numel())
        yield from (alike[i : i + count] for i in range(0, len(alike), count))
