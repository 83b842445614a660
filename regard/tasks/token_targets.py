"""The loss of models that predict a label for some of the tokens of a text: the next token, a masked one, a tag."""

from collections.abc import Callable

from torch import Tensor

from regard.model.single_stack import DecoderOnly, EncoderOnly
from regard.runtime.attention import use_fused_attention
from regard.tasks.loss import ChunkedLoss, LossModule
from regard.tasks.text_batch import IGNORED, TextBatch

StackForward = Callable[[Tensor, Tensor | None], Tensor]
"""Padded ids (B, T) and their token types (B, T), or None -> the states (N, D) of the tokens that are no padding."""


class PaddedStackForward:
    """The forward pass of a single stack on padded batches."""

    def __init__(self, model: EncoderOnly | DecoderOnly):
        use_fused_attention(model)
        self.model = model

    def __call__(self, ids: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        options = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return self.model(ids, **options)[ids != self.model.pad]


class TokenTargetLoss(LossModule):
    """The cross-entropy of the tokens that have a label. Only their states are projected."""

    model: EncoderOnly | DecoderOnly

    def __init__(
        self, model: EncoderOnly | DecoderOnly, label_smoothing: float, forward_path: StackForward | None = None
    ):
        super().__init__()
        self.model = model
        self.forward_path = forward_path or PaddedStackForward(model)
        self.loss = ChunkedLoss(model.output, label_smoothing)

    def states(self, batch: TextBatch) -> tuple[Tensor, Tensor | float]:
        """The hidden states (N, D) of the tokens that have a label."""
        has_label = (batch.labels != IGNORED)[batch.ids != self.model.pad]
        return self.forward_path(batch.ids, batch.token_type_ids)[has_label], 0.0

    def labels(self, batch: TextBatch) -> Tensor:
        """The labels of these tokens: (N,)."""
        return batch.labels[batch.labels != IGNORED]
