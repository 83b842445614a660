"""The loss of extraction: the cross-entropy of taking a sentence or not, given its mean state in its document."""

import torch
from torch import Tensor

from regard.config import Scheduled
from regard.tasks.loss import LossModule, TokenLoss
from regard.tasks.text_batch import IGNORED, TokenLabelBatch
from regard.tasks.text_forward import SingleStack, make_forward


class ExtractionLoss(LossModule):
    """The loss of sentences, each of which begins at a token that has a label."""

    model: SingleStack

    def __init__(self, model: SingleStack, label_smoothing: Scheduled, padding_free: bool = False):
        super().__init__()
        self.model = model
        self.forward_path = make_forward(model, padding_free)
        self.loss = TokenLoss(model.output, label_smoothing)

    def states(self, batch: TokenLabelBatch) -> tuple[Tensor, Tensor | float]:
        """The mean states of sentences: (N, D)."""
        packed = self.forward_path(batch.ids, batch.token_type_ids)
        states = packed.layout.pad(packed.states)  # (B, T, D)
        return pool_sentences(states, batch.labels != IGNORED, batch.ids != self.model.pad), 0.0

    def labels(self, batch: TokenLabelBatch) -> Tensor:
        """1 for each sentence that is taken, 0 for the others: (N,)."""
        return batch.labels[batch.labels != IGNORED]


def pool_sentences(states: Tensor, starts: Tensor, attention_mask: Tensor) -> Tensor:
    """The mean state of the tokens of each sentence, up to where the next one starts: (B, T, D) -> (N, D)."""
    is_inside = attention_mask & (starts.cumsum(dim=1) > 0)  # (B, T): not the special tokens before the first sentence
    numbers = starts.flatten().cumsum(dim=0).view_as(starts)[is_inside] - 1  # of the sentence of each token
    num_sentences = int(starts.sum())
    sums = states.new_zeros(num_sentences, states.shape[2]).index_add(0, numbers, states[is_inside])
    return sums / torch.bincount(numbers, minlength=num_sentences)[:, None]
