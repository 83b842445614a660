"""Sampling: the next token is drawn from the model's distribution."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from regard.decode.greedy import generate_sequences
from regard.decode.limits import Limits
from regard.decode.stepper import Hypothesis, Stepper
from regard.errors import ConfigError


@dataclass(frozen=True)
class SamplingSearch:
    """Sampling with temperature, top-k (0: all tokens), top-p, also called nucleus (1: all tokens), and min-p.

    Min-p keeps the tokens whose probability is at least this fraction of the highest (0: all tokens).
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    limits: Limits = field(default_factory=Limits)
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed}: must be 0 or more")
        if not 0 < self.temperature < float("inf"):
            raise ConfigError(
                f"temperature={self.temperature}: must be above 0; leave out --sample for the most probable output"
            )
        if self.top_k < 0 or not 0 < self.top_p <= 1:
            raise ConfigError(
                f"top_k={self.top_k}, top_p={self.top_p}: top_k must be 0 or more, top_p above 0 and at most 1"
            )
        if not 0 <= self.min_p <= 1:
            raise ConfigError(f"min_p={self.min_p}: must be from 0 to 1")

    def search(self, stepper: Stepper) -> list[list[Hypothesis]]:
        # One random stream per sentence: its sample does not depend on the other sentences of the batch.
        max_length = int(self.limits.max_lengths(stepper).max())
        draws = [np.random.default_rng([self.seed, i]).random(max_length) for i in stepper.global_indices.tolist()]
        uniforms = torch.from_numpy(np.stack(draws))

        def choose_tokens(scores: Tensor, sentence_indices: Tensor, output_lengths: Tensor) -> Tensor:
            return self.draw(scores, uniforms[sentence_indices.cpu(), output_lengths.cpu()])

        return generate_sequences(stepper, self.limits, choose_tokens)

    def draw(self, scores: Tensor, uniforms: Tensor) -> Tensor:
        """Scores (N, V) and a uniform number in [0, 1) for each row (N,) -> tokens (N,)."""
        device = scores.device
        scores, uniforms = scores.cpu().double(), uniforms.cpu()  # not every device has float64
        sorted_scores, order = (scores / self.temperature).sort(dim=-1, descending=True)
        p = sorted_scores.softmax(dim=-1)
        if self.top_k:
            p[:, self.top_k :] = 0
        p[p < self.min_p * p[:, :1]] = 0
        p[p.cumsum(dim=-1) - p >= self.top_p] = 0  # keep a token if the more probable ones sum to less than top_p
        cumulative = p.cumsum(dim=-1)
        sampled_ranks = (cumulative <= uniforms[:, None] * cumulative[:, -1:]).sum(dim=-1, keepdim=True)
        return order.gather(1, sampled_ranks.clamp(max=scores.shape[-1] - 1))[:, 0].to(device)
