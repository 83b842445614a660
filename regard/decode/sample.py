"""Draw the next token at random, from what is likely enough."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from regard.decode.greedy import walk
from regard.decode.limits import Limits
from regard.decode.stepper import Hypothesis, Stepper
from regard.errors import ConfigError


@dataclass(frozen=True)
class Sample:
    """Sampling with temperature, from the `top_k` likeliest tokens or those that make up `top_p` (0, 1: from all)."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed}: must be 0 or more")
        if not 0 < self.temperature < float("inf"):
            raise ConfigError(
                f"temperature={self.temperature}: must be above 0; for the likeliest output leave out --sample"
            )
        if self.top_k < 0 or not 0 < self.top_p <= 1:
            raise ConfigError(
                f"top_k={self.top_k}, top_p={self.top_p}: top_k is 0 or more, top_p above 0 and at most 1"
            )

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        # One stream of numbers a sentence: what is drawn for it does not depend on its neighbours in the batch.
        longest = int(self.limits.caps(stepper).max())
        draws = [np.random.default_rng([self.seed, i]).random(longest) for i in stepper.numbers.tolist()]
        chance = torch.from_numpy(np.stack(draws))

        def choose(scores: Tensor, sentences: Tensor, taken: Tensor) -> Tensor:
            return self.draw(scores, chance[sentences.cpu(), taken.cpu()])

        return walk(stepper, self.limits, choose)

    def draw(self, scores: Tensor, chance: Tensor) -> Tensor:
        """Scores (N, V) and a number in [0, 1) for each row (N,) -> tokens (N,)."""
        device = scores.device
        scores, chance = scores.cpu().double(), chance.cpu()  # not every device has float64
        ranked, order = (scores / self.temperature).sort(dim=-1, descending=True)
        p = ranked.softmax(dim=-1)
        if self.top_k:
            p[:, self.top_k :] = 0
        p[p.cumsum(dim=-1) - p >= self.top_p] = 0  # keep a token if those before it do not make up top_p yet
        mass = p.cumsum(dim=-1)
        at = (mass <= chance[:, None] * mass[:, -1:]).sum(dim=-1, keepdim=True)
        return order.gather(1, at.clamp(max=scores.shape[-1] - 1))[:, 0].to(device)
