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
        return self.sums(self.predict(states, target), target)

    def predict(self, states: Tensor, target: Tensor) -> Tensor:
        """Log-probabilities of the real tokens alone: (B, T, D) -> (N, V)."""
        return self.output(states[target != self.pad]).log_softmax(dim=-1)

    def sums(self, logp: Tensor, target: Tensor) -> Sums:
        """Totals of predictions (N, V) of the real tokens of target (B, T)."""
        gold = target[target != self.pad]  # (N,)
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


class RDrop(Learner):
    """Every batch twice, with other dropout; the two predictions p and q are drawn together.

    (ce(p) + ce(q)) / 2 + weight · (KL(p‖q) + KL(q‖p)) / 4: the loss of Liang et al. 2021 with its weight α, halved as a
    whole so that a token weighs as much as without it.
    """

    def __init__(self, model: EncoderDecoder, smoothing: float, weight: float):
        super().__init__(model, smoothing)
        self.weight = weight

    def forward(self, batch: Batch) -> Sums:
        if not self.training:
            return super().forward(batch)
        twice = (batch.source.repeat(2, 1), batch.target_in.repeat(2, 1))
        one, two = self.model(*twice).chunk(2)  # (2B, T, D) -> (B, T, D) each
        p, q = self.loss.predict(one, batch.target_out), self.loss.predict(two, batch.target_out)
        first, second = self.loss.sums(p, batch.target_out), self.loss.sums(q, batch.target_out)
        apart = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p‖q) + KL(q‖p)
        return Sums(
            (first.objective + second.objective) / 2 + self.weight * apart / 4,
            (first.loss + second.loss) / 2,
            (first.correct + second.correct) / 2,
        )
