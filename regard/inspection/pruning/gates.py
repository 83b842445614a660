"""Hard concrete gates on heads with a differentiable L0 penalty.  Louizos et al. 2018; Voita et al. 2019.

Only the gates are trained; the weights of the trained model are frozen. A model trained together with its gates would
hide what they cost.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.config import Head
from regard.inspection.example import Example
from regard.inspection.heads.importance import Intervention, count_target_tokens, gate_heads, sentence_losses
from regard.inspection.trace import Model, attention_sites
from regard.model.modules import evaluation_mode
from regard.model.taps import alter
from regard.progress import track

TEMPERATURE, STRETCH_LOW, STRETCH_HIGH = 0.33, -0.1, 1.1
INITIAL_LOG_ALPHA = 2.0  # nearly open


def sample_hard_concrete(log_alpha: Tensor, u: Tensor) -> Tensor:
    """A sample of the hard concrete distribution for u uniform in (0, 1): stretched beyond [0, 1], then clamped."""
    s = ((u.log() - (1 - u).log() + log_alpha) / TEMPERATURE).sigmoid()
    return (s * (STRETCH_HIGH - STRETCH_LOW) + STRETCH_LOW).clamp(0, 1)


def open_probability(log_alpha: Tensor) -> Tensor:
    """P(gate ≠ 0); the penalty is the sum over gates."""
    return (log_alpha - TEMPERATURE * math.log(-STRETCH_LOW / STRETCH_HIGH)).sigmoid()


def learn_gates(
    model: Model, examples: Sequence[Example], steps: int, penalty: float, learning_rate: float = 0.1, seed: int = 1
) -> dict[Head, float]:
    """log α of each head after minimizing loss + penalty · Σ P(open): the higher, the more important the head."""
    attn_sites = attention_sites(model)
    generator = torch.Generator().manual_seed(seed)
    log_alphas = [torch.full((site.attention.heads,), INITIAL_LOG_ALPHA, requires_grad=True) for site in attn_sites]
    optimizer = torch.optim.Adam(log_alphas, lr=learning_rate)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    try:
        for _ in track(range(steps), "learning gates"):
            batch = _sample_batch(examples, generator)
            interventions: dict[str, Intervention] = {}
            for site, log_alpha in zip(attn_sites, log_alphas, strict=True):
                u = torch.rand(log_alpha.shape, generator=generator).clamp(1e-6, 1 - 1e-6)
                interventions |= gate_heads(site, sample_hard_concrete(log_alpha, u))
            with evaluation_mode(model), torch.enable_grad(), alter(model, interventions):
                loss = sentence_losses(model, batch).sum() / float(count_target_tokens(batch).sum())
            expected_open = torch.stack([open_probability(log_alpha).sum() for log_alpha in log_alphas]).sum()
            optimizer.zero_grad()
            (loss + penalty * expected_open).backward()
            optimizer.step()
    finally:
        for parameter in model.parameters():
            parameter.requires_grad_(True)
    return {
        head: value
        for site, log_alpha in zip(attn_sites, log_alphas, strict=True)
        for head, value in zip(site.heads, log_alpha.tolist(), strict=True)
    }


def _sample_batch(examples: Sequence[Example], generator: torch.Generator, count: int = 16) -> list[Example]:
    indices = torch.randperm(len(examples), generator=generator)[:count]
    return [examples[int(i)] for i in indices]
