"""Gates on heads that learn to shut: an L0 penalty made smooth by noise.  Louizos et al. 2018; Voita et al. 2019.

From a model that is trained already: gates alone learn, the weights stay as they are. A model that learns with its
gates from the start would hide what they cost.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import Head
from regard.inspection.example import Example
from regard.inspection.heads.importance import Change, gated, losses, tokens
from regard.inspection.trace import Model, sites
from regard.model.taps import alter

TEMPERATURE, LOW, HIGH = 0.33, -0.1, 1.1
START = 2.0  # log α at the beginning: nearly open


def noisy(log_alpha: Tensor, u: Tensor) -> Tensor:
    """A gate of the hard concrete distribution for u uniform in (0, 1): stretched beyond 0 and 1, then cut there."""
    s = ((u.log() - (1 - u).log() + log_alpha) / TEMPERATURE).sigmoid()
    return (s * (HIGH - LOW) + LOW).clamp(0, 1)


def still(log_alpha: Tensor) -> Tensor:
    """The gate without noise, as it is used once learnt."""
    return (log_alpha.sigmoid() * (HIGH - LOW) + LOW).clamp(0, 1)


def open_chance(log_alpha: Tensor) -> Tensor:
    """P(gate ≠ 0): what the penalty sums."""
    return (log_alpha - TEMPERATURE * math.log(-LOW / HIGH)).sigmoid()


def learn(
    model: Model, examples: Sequence[Example], steps: int, penalty: float, rate: float = 0.1, seed: int = 1
) -> dict[Head, float]:
    """log α of each head after so many steps of loss + penalty · Σ P(open): the higher, the more it is wanted."""
    every = sites(model)
    generator = torch.Generator().manual_seed(seed)
    alphas = [torch.full((site.attention.heads,), START, requires_grad=True) for site in every]
    optimizer = torch.optim.Adam(alphas, lr=rate)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    try:
        for step in range(steps):
            chosen = _some(examples, step, generator)
            changes: dict[str, Change] = {}
            for site, alpha in zip(every, alphas, strict=True):
                u = torch.rand(alpha.shape, generator=generator).clamp(1e-6, 1 - 1e-6)
                changes |= gated(site, noisy(alpha, u))
            with torch.enable_grad(), alter(model, changes):
                loss = losses(model, chosen).sum() / float(tokens(chosen).sum())
            wanted = torch.stack([open_chance(alpha).sum() for alpha in alphas]).sum()
            optimizer.zero_grad()
            (loss + penalty * wanted).backward()
            optimizer.step()
    finally:
        for parameter in model.parameters():
            parameter.requires_grad_(True)
    return {
        head: value
        for site, alpha in zip(every, alphas, strict=True)
        for head, value in zip(site.heads, alpha.tolist(), strict=True)
    }


def _some(examples: Sequence[Example], step: int, generator: torch.Generator, count: int = 16) -> list[Example]:
    order = torch.randperm(len(examples), generator=generator)[:count]
    return [examples[int(i)] for i in order]
