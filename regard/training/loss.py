"""Cross-entropy over real tokens, summed; whoever updates divides once, by all tokens of the update."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.kernels import CHUNK, chunked_cross_entropy
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder, Projection
from regard.runtime.padding_free import PaddingFree
from regard.training.guided_alignment import Guide


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

    def __init__(self, output: Projection, smoothing: float):
        super().__init__()
        self.output = output
        self.smoothing = smoothing

    def forward(self, states: Tensor, gold: Tensor) -> Sums:
        """States (N, D) and what they should predict (N,) -> totals."""
        return self.sums(self.predict(states), gold)

    def predict(self, states: Tensor) -> Tensor:
        """Log-probabilities: (N, D) -> (N, V)."""
        return self.output(states).log_softmax(dim=-1)

    def sums(self, logp: Tensor, gold: Tensor) -> Sums:
        """Totals of predictions (N, V)."""
        loss = F.nll_loss(logp, gold, reduction="sum")
        spread = -logp.mean(dim=-1).sum()  # cross-entropy with the uniform distribution
        objective = (1 - self.smoothing) * loss + self.smoothing * spread
        with torch.no_grad():
            correct = (logp.argmax(dim=-1) == gold).sum()
        return Sums(objective, loss.detach(), correct)


class ChunkedLoss(TokenLoss):
    """The same loss without ever holding all logits: less memory, and faster where a cache is small."""

    def forward(self, states: Tensor, gold: Tensor) -> Sums:
        if not states.requires_grad:
            chunks = zip(states.split(CHUNK), gold.split(CHUNK), strict=True)
            parts = [super(ChunkedLoss, self).forward(*rows) for rows in chunks]
            return Sums(*(torch.stack(sums).sum(dim=0) for sums in zip(*parts, strict=True)))
        return Sums(*chunked_cross_entropy(states, self.output.weight, self.output.bias, gold, self.smoothing))


class Padded:
    """A model as its layers say: the plain path, with the face of `Packed`."""

    def __init__(self, model: EncoderDecoder):
        self.model = model

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return self.model(source, target)[target != self.model.pad]

    def watched(self, source: Tensor, target: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """The same, and the scores (B, T, S) of the first head of a layer's cross-attention."""
        name = f"decoder.{layer}.cross.scores"
        with record(self.model, name) as seen:
            states = self(source, target)
        return states, seen[name][:, 0]


class Learner(nn.Module):
    """Model and loss in one forward, as wrappers for several devices want it."""

    def __init__(self, model: EncoderDecoder, smoothing: float, packed: bool = False, guide: Guide | None = None):
        super().__init__()
        self.model = model
        self.path = PaddingFree(model) if packed else Padded(model)
        self.loss = (ChunkedLoss if packed else TokenLoss)(model.output, smoothing)
        self.guide = guide

    def forward(self, batch: Batch) -> Sums:
        states, extra = self.states(batch)
        sums = self.loss(states, self.gold(batch))
        return sums._replace(objective=sums.objective + extra)

    def states(self, batch: Batch) -> tuple[Tensor, Tensor | float]:
        """The states (N, D) of the target's real tokens, and what the guide adds to the objective."""
        if self.guide is None or not self.training:
            return self.path(batch.source, batch.target_in), 0.0
        states, scores = self.path.forward_with_scores(batch.source, batch.target_in, self.guide.layer)
        return states, self.guide.loss(scores, batch)

    def gold(self, batch: Batch) -> Tensor:
        """The real tokens to predict: (N,)."""
        return batch.target_out[batch.target_out != self.model.pad]


class RDrop(Learner):
    """Every batch twice, with other dropout; the two predictions p and q are drawn together.

    (ce(p) + ce(q)) / 2 + weight · (KL(p‖q) + KL(q‖p)) / 4: the loss of Liang et al. 2021 with its weight α, halved as a
    whole so that a token weighs as much as without it.
    """

    def __init__(
        self, model: EncoderDecoder, smoothing: float, weight: float, packed: bool = False, guide: Guide | None = None
    ):
        super().__init__(model, smoothing, packed, guide)
        self.weight = weight

    def forward(self, batch: Batch) -> Sums:
        if not self.training:
            return super().forward(batch)
        gold = self.gold(batch)
        states, extra = self.states(batch.twice())  # (2N, D)
        p, q = (self.loss.predict(half) for half in states.chunk(2))
        first, second = self.loss.sums(p, gold), self.loss.sums(q, gold)
        apart = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p‖q) + KL(q‖p)
        return Sums(
            (first.objective + second.objective + extra) / 2 + self.weight * apart / 4,
            (first.loss + second.loss) / 2,
            (first.correct + second.correct) / 2,
        )
