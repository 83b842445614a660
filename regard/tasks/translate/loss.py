"""The loss of translation: the cross-entropy of the target tokens, given the source and the tokens before each."""

from collections.abc import Sequence

from torch import Tensor

from regard.config import Head, Scheduled
from regard.data.batch import Batch
from regard.model.single_stack import SourceTargetDecoder
from regard.model.taps import attention_path, record
from regard.model.transformer import EncoderDecoder
from regard.runtime.attention import use_fused_attention
from regard.runtime.padding_free import PaddingFreeForward, PaddingFreeSequence, find_attention
from regard.tasks.loss import ChunkedLoss, LossModule, TokenLoss
from regard.tasks.translate.guided_alignment import GuidedAlignment


class PaddedForward:
    """The forward pass of a model on padded batches, with the interface of `PaddingFreeForward`."""

    def __init__(self, model: EncoderDecoder | SourceTargetDecoder):
        use_fused_attention(model)
        self.model = model

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return self.model(source, target)[target != self.model.pad]

    def forward_with_scores(self, source: Tensor, target: Tensor, heads: Sequence[Head]) -> tuple[Tensor, list[Tensor]]:
        """Also the scores (B, T, S) of these heads of cross-attention."""
        taps = [f"{attention_path(head.attention_name)}.scores" for head in heads]
        with record(self.model, *taps) as activations:
            states = self(source, target)
        indices = [find_attention(self.model, head).head_ids.index(head.number) for head in heads]
        return states, [activations[tap][:, index] for tap, index in zip(taps, indices, strict=True)]


TranslationForward = PaddedForward | PaddingFreeForward | PaddingFreeSequence


def make_forward(model: EncoderDecoder | SourceTargetDecoder, padding_free: bool) -> TranslationForward:
    """The function from padded source and target to the states of the target's tokens."""
    if not padding_free:
        return PaddedForward(model)
    return PaddingFreeForward(model) if isinstance(model, EncoderDecoder) else PaddingFreeSequence(model)


class TranslationLoss(LossModule):
    """The cross-entropy of the target tokens, and the guided alignment of one head in training."""

    model: EncoderDecoder | SourceTargetDecoder

    def __init__(
        self,
        model: EncoderDecoder | SourceTargetDecoder,
        label_smoothing: Scheduled,
        padding_free: bool = False,
        guided_alignment: GuidedAlignment | None = None,
    ):
        super().__init__()
        self.model = model
        self.forward_path = make_forward(model, padding_free)
        self.loss = (ChunkedLoss if padding_free else TokenLoss)(model.output, label_smoothing)
        self.guided_alignment = guided_alignment
        self.guided_weight = guided_alignment.weight if guided_alignment else None  # which follows the progress

    def states(self, batch: Batch) -> tuple[Tensor, Tensor | float]:
        """The hidden states (N, D) of the real target tokens, and the guided alignment term of the objective."""
        if self.guided_alignment is None or not self.guided_alignment.weight.value or not self.training:
            return self.forward_path(batch.source, batch.target_in), 0.0
        assert not isinstance(self.forward_path, PaddingFreeSequence)  # which has no cross-attention to guide
        states, scores = self.forward_path.forward_with_scores(
            batch.source, batch.target_in, self.guided_alignment.heads
        )
        return states, self.guided_alignment.loss(scores, batch)

    def labels(self, batch: Batch) -> Tensor:
        """The real tokens to predict: (N,)."""
        return batch.target_out[batch.target_out != self.model.pad]
