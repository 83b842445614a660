"""Cross-entropy over the targets of a batch, summed; the loop divides once, by all targets of the step.

What counts as a target is the task's choice: the tokens of a translation, the label of a text, the tags of words.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import Scheduled, value_at
from regard.data.batch import TrainingBatch
from regard.kernels import CHUNK, chunked_cross_entropy
from regard.model.projection import Projection


class LossTotals(NamedTuple):
    """Totals over the targets of a batch."""

    objective: Tensor
    """What is minimized: cross-entropy with label smoothing."""
    loss: Tensor
    """Cross-entropy without label smoothing, in nats."""
    correct: Tensor
    """Targets whose most likely prediction was right."""


class ProgressValue(nn.Module):
    """The present value of a setting that may change over training; its loss module sets the progress."""

    def __init__(self, setting: Scheduled):
        super().__init__()
        self.setting = setting
        self.set_progress(0.0)

    def set_progress(self, progress: float) -> None:
        self.value = value_at(self.setting, progress)


class TokenLoss(nn.Module):
    """The loss owns the output projection, so that padding is never projected."""

    def __init__(self, output: Projection, label_smoothing: Scheduled):
        super().__init__()
        self.output = output
        self.smoothing = ProgressValue(label_smoothing)

    @property
    def label_smoothing(self) -> float:
        """Of the present step."""
        return self.smoothing.value

    def forward(self, states: Tensor, labels: Tensor) -> LossTotals:
        """Hidden states (N, D) and their labels (N,) -> totals."""
        return self.totals(self.predict(states), labels)

    def predict(self, states: Tensor) -> Tensor:
        """Log-probabilities: (N, D) -> (N, V)."""
        return self.output(states).log_softmax(dim=-1)

    def totals(self, log_probs: Tensor, labels: Tensor) -> LossTotals:
        """Totals of log-probabilities (N, V) and labels (N,)."""
        loss = F.nll_loss(log_probs, labels, reduction="sum")
        uniform_loss = -log_probs.mean(dim=-1).sum()  # cross-entropy with the uniform distribution
        objective = (1 - self.label_smoothing) * loss + self.label_smoothing * uniform_loss
        with torch.no_grad():
            correct = (log_probs.argmax(dim=-1) == labels).sum()
        return LossTotals(objective, loss.detach(), correct)


class ChunkedLoss(TokenLoss):
    """The same loss computed in chunks, without all logits at once: less memory, and faster with small caches."""

    def forward(self, states: Tensor, labels: Tensor) -> LossTotals:
        if not states.requires_grad:
            chunks = zip(states.split(CHUNK), labels.split(CHUNK), strict=True)
            chunk_totals = [super(ChunkedLoss, self).forward(*rows) for rows in chunks]
            return LossTotals(*(torch.stack(sums).sum(dim=0) for sums in zip(*chunk_totals, strict=True)))
        return LossTotals(
            *chunked_cross_entropy(states, self.output.weight, self.output.bias, labels, self.label_smoothing)
        )


class LossModule(nn.Module):
    """Model and loss in one forward, as DistributedDataParallel needs it. A task says which states predict what."""

    model: nn.Module
    loss: TokenLoss

    def forward(self, batch: Any) -> LossTotals:
        states, auxiliary_loss = self.states(batch)
        totals = self.loss(states, self.labels(batch))
        return totals._replace(objective=totals.objective + auxiliary_loss)

    def set_progress(self, progress: float) -> None:
        """Give every setting that changes over training its value at this progress, from 0 to 1."""
        for module in self.modules():
            if isinstance(module, ProgressValue):
                module.set_progress(progress)

    def states(self, batch: Any) -> tuple[Tensor, Tensor | float]:
        """The hidden states (N, D) that predict the targets, and what the objective has beside their cross-entropy."""
        raise NotImplementedError

    def labels(self, batch: Any) -> Tensor:
        """The targets: (N,)."""
        raise NotImplementedError


class RDrop(LossModule):
    """R-Drop: every batch twice, with different dropout; the divergence of the two predictions p and q is minimized.

    (ce(p) + ce(q)) / 2 + weight · (KL(p‖q) + KL(q‖p)) / 4: the loss of Liang et al. 2021 with its weight α, halved as a
    whole so that a target weighs as much as without it. While the weight is 0, a batch is computed once.
    """

    def __init__(self, loss_module: LossModule, kl_weight: Scheduled):
        super().__init__()
        self.loss_module = loss_module
        self.model, self.loss = loss_module.model, loss_module.loss
        self.kl_weight = ProgressValue(kl_weight)

    def forward(self, batch: TrainingBatch) -> LossTotals:
        if not self.training or not self.kl_weight.value:
            return self.loss_module(batch)
        labels = self.loss_module.labels(batch)
        states, auxiliary_loss = self.loss_module.states(batch.duplicate())  # (2N, D)
        p, q = (self.loss.predict(half) for half in states.chunk(2))
        first, second = self.loss.totals(p, labels), self.loss.totals(q, labels)
        symmetric_kl = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p‖q) + KL(q‖p)
        return LossTotals(
            (first.objective + second.objective + auxiliary_loss) / 2 + self.kl_weight.value * symmetric_kl / 4,
            (first.loss + second.loss) / 2,
            (first.correct + second.correct) / 2,
        )
