"""The loss of models that predict a label for some of the tokens of a text: the next token, a masked one, a tag."""

from torch import Tensor

from regard.config import Scheduled
from regard.tasks.loss import ChunkedLoss, LossModule
from regard.tasks.text_batch import IGNORED, TextBatch
from regard.tasks.text_forward import SingleStack, make_forward


class TokenTargetLoss(LossModule):
    """The cross-entropy of the tokens that have a label. Only their states are projected."""

    model: SingleStack

    def __init__(self, model: SingleStack, label_smoothing: Scheduled, padding_free: bool = False):
        super().__init__()
        self.model = model
        self.forward_path = make_forward(model, padding_free)
        self.loss = ChunkedLoss(model.output, label_smoothing)

    def states(self, batch: TextBatch) -> tuple[Tensor, Tensor | float]:
        """The hidden states (N, D) of the tokens that have a label."""
        has_label = (batch.labels != IGNORED)[batch.ids != self.model.pad]
        return self.forward_path(batch.ids, batch.token_type_ids).states[has_label], 0.0

    def labels(self, batch: TextBatch) -> Tensor:
        """The labels of these tokens: (N,)."""
        return batch.labels[batch.labels != IGNORED]
