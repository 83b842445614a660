"""Cross-entropy over real tokens, summed; whoever updates divides once, by all tokens of the update."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from regard.data.batch import Batch
from regard.model.packed import Packed
from regard.model.transformer import EncoderDecoder, Projection

CHUNK = 512  # tokens whose logits are in memory at a time: few enough to stay in a CPU's cache

Path = Callable[[Tensor, Tensor], Tensor]
"""From padded ids (B, S), (B, T) to the states (N, D) of the target's real tokens."""


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


class _Chunked(Function):
    """Projection, cross-entropy and the gradients of both, a few hundred tokens at a time."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, ...]:
        d_states, d_weight = torch.empty_like(states), torch.zeros_like(weight)
        objective, loss, correct = (states.new_zeros(()) for _ in range(3))
        for start in range(0, len(states), CHUNK):
            rows = slice(start, start + CHUNK)
            logp = (states[rows] @ weight.mT).log_softmax(dim=-1)  # (C, V)
            right = logp.gather(1, gold[rows, None])
            own, spread = right.sum(), logp.sum() / len(weight)
            loss -= own
            objective -= (1 - smoothing) * own + smoothing * spread
            correct += (right >= logp.amax(dim=-1, keepdim=True)).sum()
            # What pulls at the logits: what is predicted less what was wanted.
            pull = logp.exp_().sub_(smoothing / len(weight))
            pull.scatter_add_(1, gold[rows, None], pull.new_full((len(pull), 1), smoothing - 1))
            torch.mm(pull, weight, out=d_states[rows])
            d_weight.addmm_(pull.mT, states[rows])
        ctx.save_for_backward(d_states, d_weight)
        ctx.mark_non_differentiable(loss, correct)
        return objective, loss, correct

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        d_states, d_weight = ctx.saved_tensors
        return d_states.mul_(grad), d_weight.mul_(grad), None, None


class ChunkedLoss(TokenLoss):
    """The same loss without ever holding all logits: less memory, and faster where a cache is small."""

    def forward(self, states: Tensor, gold: Tensor) -> Sums:
        if not states.requires_grad:
            return super().forward(states, gold)
        return Sums(*_Chunked.apply(states, self.output.weight, gold, self.smoothing))


class Learner(nn.Module):
    """Model and loss in one forward, as wrappers for several devices want it."""

    def __init__(self, model: EncoderDecoder, smoothing: float, packed: bool = False):
        super().__init__()
        self.model = model
        self.path: Path = Packed(model) if packed else self._padded
        self.loss = (ChunkedLoss if packed else TokenLoss)(model.output, smoothing)

    def forward(self, batch: Batch) -> Sums:
        return self.loss(self.path(batch.source, batch.target_in), self.gold(batch))

    def gold(self, batch: Batch) -> Tensor:
        """The real tokens to predict: (N,)."""
        return batch.target_out[batch.target_out != self.model.pad]

    def _padded(self, source: Tensor, target: Tensor) -> Tensor:
        return self.model(source, target)[target != self.model.pad]


class RDrop(Learner):
    """Every batch twice, with other dropout; the two predictions p and q are drawn together.

    (ce(p) + ce(q)) / 2 + weight · (KL(p‖q) + KL(q‖p)) / 4: the loss of Liang et al. 2021 with its weight α, halved as a
    whole so that a token weighs as much as without it.
    """

    def __init__(self, model: EncoderDecoder, smoothing: float, weight: float, packed: bool = False):
        super().__init__(model, smoothing, packed)
        self.weight = weight

    def forward(self, batch: Batch) -> Sums:
        if not self.training:
            return super().forward(batch)
        gold = self.gold(batch)
        states = self.path(batch.source.repeat(2, 1), batch.target_in.repeat(2, 1))  # (2N, D)
        p, q = (self.loss.predict(half) for half in states.chunk(2))
        first, second = self.loss.sums(p, gold), self.loss.sums(q, gold)
        apart = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p‖q) + KL(q‖p)
        return Sums(
            (first.objective + second.objective) / 2 + self.weight * apart / 4,
            (first.loss + second.loss) / 2,
            (first.correct + second.correct) / 2,
        )
