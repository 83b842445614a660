"""The loss of classification: the cross-entropy of the labels of texts, given their pooled states."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.config import Scheduled
from regard.model.projection import Projection
from regard.tasks.classify.labels import LabelSet
from regard.tasks.label_statistics import balance_classes
from regard.tasks.loss import LossModule, LossTotals, TokenLoss
from regard.tasks.text_batch import TextBatch
from regard.tasks.text_forward import TextModel, make_forward, pool_states


class WeightedLoss(TokenLoss):
    """Cross-entropy in which each text counts as much as the weight of its class, so that rare classes are learned."""

    class_weights: Tensor

    def __init__(self, output: Projection, label_smoothing: Scheduled, class_weights: Sequence[float]):
        super().__init__(output, label_smoothing)
        self.register_buffer("class_weights", torch.tensor(class_weights), persistent=False)

    def totals(self, log_probs: Tensor, labels: Tensor) -> LossTotals:
        losses = F.nll_loss(log_probs, labels, reduction="none")
        smoothed = (1 - self.label_smoothing) * losses - self.label_smoothing * log_probs.mean(dim=-1)
        objective = (self.class_weights[labels] * smoothed).sum()
        return super().totals(log_probs, labels)._replace(objective=objective)


class MultiLabelLoss(TokenLoss):
    """Binary cross-entropy of every label, summed over the labels of a text.

    Predictions are log-probabilities of both answers, no and yes, for each label: (N, C, 2).
    """

    def predict(self, states: Tensor) -> Tensor:
        logits = self.output(states)  # (N, C)
        return F.logsigmoid(torch.stack((-logits, logits), dim=-1))

    def totals(self, log_probs: Tensor, labels: Tensor) -> LossTotals:
        """Totals of (N, C, 2) and labels (N, C) of 0 and 1; a text is right if all of its labels are."""
        totals = super().totals(log_probs.flatten(0, 1), labels.flatten())
        with torch.no_grad():
            matches = log_probs.argmax(dim=-1) == labels  # (N, C)
        return totals._replace(correct=matches.all(dim=1).sum())


def make_label_loss(
    output: Projection, labels: LabelSet, label_smoothing: Scheduled = 0.0, balance: bool = False
) -> TokenLoss:
    """The loss that suits the labels; with `balance`, rare classes weigh more (texts of one label)."""
    if labels.multi_label:
        return MultiLabelLoss(output, label_smoothing)
    if balance:
        return WeightedLoss(output, label_smoothing, balance_classes(labels.counts))
    return TokenLoss(output, label_smoothing)


class ClassificationLoss(LossModule):
    """The loss of the labels of texts."""

    model: TextModel

    def __init__(self, model: TextModel, loss: TokenLoss, padding_free: bool = False):
        super().__init__()
        self.model = model
        self.forward_path = make_forward(model, padding_free)
        self.loss = loss

    def states(self, batch: TextBatch) -> tuple[Tensor, Tensor | float]:
        """The pooled states of the texts: (B, D)."""
        packed = self.forward_path(batch.ids, batch.token_type_ids)
        return pool_states(self.model, packed, batch.ids != self.model.pad), 0.0

    def labels(self, batch: TextBatch) -> Tensor:
        """The labels of the texts: (B,), or (B, C) of 0 and 1."""
        return batch.labels
