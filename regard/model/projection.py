"""From states to logits. The loss and the search apply it, so that padding is never projected."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Projection(nn.Module):
    """States (…, D) -> logits (…, V)."""

    def __init__(self, weight: Tensor, biased: bool = False):
        super().__init__()
        self.weight = weight  # (V, D), the embedding table itself where they are tied
        self.bias = nn.Parameter(torch.zeros(len(weight))) if biased else None

    def forward(self, states: Tensor) -> Tensor:
        return F.linear(states, self.weight, self.bias)
