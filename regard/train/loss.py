"""Cross-entropy over real tokens, summed; whoever updates divides once, by all tokens of the update."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.model.transformer import EncoderDecoder, Projection


class Sums(NamedTuple):
    """Totals over the real tokens of a batch."""

    objective: Tensor
    """What is minimised: cross-entropy with label smoothing."""
    loss: Tensor
    """Cross-entropy without it, in nats."""
    correct: Tensor
    """Tokens whose likeliest prediction was right."""


class TokenLoss(nn.Module):
    """The loss owns the projection, so that padding is never projected."""

    def __init__(self, output: Projection, smoothing: float, pad: int):
        super().__init__()
        self.output = output
        self.smoothing = smoothing
        self.pad = pad

    def forward(self, states: Tensor, target: Tensor) -> Sums:
        """States (B, T, D), target (B, T) -> totals over the real tokens."""
        real = target != self.pad
        gold = target[real]  # (N,)
        logp = self.output(states[real]).log_softmax(dim=-1)  # (N, D) -> (N, V)
        loss = F.nll_loss(logp, gold, reduction="sum")
        spread = -logp.mean(dim=-1).sum()  # cross-entropy with the uniform distribution
        objective = (1 - self.smoothing) * loss + self.smoothing * spread
        with torch.no_grad():
            correct = (logp.argmax(dim=-1) == gold).sum()
        return Sums(objective, loss.detach(), correct)


class Learner(nn.Module):
    """Model and loss in one forward, as wrappers for several devices want it."""

    def __init__(self, model: EncoderDecoder, smoothing: float):
        super().__init__()
        self.model = model
        self.loss = TokenLoss(model.output, smoothing, model.pad)

    def forward(self, batch: Batch) -> Sums:
        return self.loss(self.model(batch.source, batch.target_in), batch.target_out)
