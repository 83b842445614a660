"""The loss of tagging: the cross-entropy of the tags of words, given the states of their first tokens."""

from torch import Tensor

from regard.config import Scheduled
from regard.tasks.loss import LossModule, TokenLoss
from regard.tasks.text_batch import IGNORED, TextBatch
from regard.tasks.text_forward import TextModel, make_forward


class TaggingLoss(LossModule):
    """The loss of the tags of words. Only first tokens are projected."""

    model: TextModel

    def __init__(self, model: TextModel, label_smoothing: Scheduled, padding_free: bool = False):
        super().__init__()
        self.model = model
        self.forward_path = make_forward(model, padding_free)
        self.loss = TokenLoss(model.output, label_smoothing)

    def states(self, batch: TextBatch) -> tuple[Tensor, Tensor | float]:
        """The states of the first tokens of words: (N, D)."""
        packed = self.forward_path(batch.ids, batch.token_type_ids)
        return packed.states[packed.layout.pack(batch.labels) != IGNORED], 0.0

    def labels(self, batch: TextBatch) -> Tensor:
        """The tags of words: (N,)."""
        return batch.labels[batch.labels != IGNORED]
