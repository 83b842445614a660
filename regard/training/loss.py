"""Cross-entropy over real tokens (no padding), summed; the loop divides once, by all tokens of the step."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.data.batch import Batch
from regard.kernels import CHUNK, chunked_cross_entropy
from regard.model.projection import Projection
from regard.model.taps import record
from regard.model.transformer import EncoderDecoder
from regard.runtime.attention import use_fused_attention
from regard.runtime.padding_free import PaddingFreeForward
from regard.training.guided_alignment import GuidedAlignment


class LossTotals(NamedTuple):
    """Totals over the real tokens of a batch."""

    objective: Tensor
    """What is minimized: cross-entropy with label smoothing."""
    loss: Tensor
    """Cross-entropy without label smoothing, in nats."""
    correct: Tensor
    """Tokens whose most likely prediction was right."""


class TokenLoss(nn.Module):
    """The loss owns the output projection, so that padding is never projected."""

    def __init__(self, output: Projection, label_smoothing: float):
        super().__init__()
        self.output = output
        self.label_smoothing = label_smoothing

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


class PaddedForward:
    """The forward pass of a model on padded batches, with the interface of `PaddingFreeForward`."""

    def __init__(self, model: EncoderDecoder):
        use_fused_attention(model)
        self.model = model

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return self.model(source, target)[target != self.model.pad]

    def forward_with_scores(self, source: Tensor, target: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """Also the scores (B, T, S) of the first head of a layer's cross-attention."""
        name = f"decoder.layers.{layer}.cross_attn.scores"
        with record(self.model, name) as activations:
            states = self(source, target)
        return states, activations[name][:, 0]


class LossModule(nn.Module):
    """Model and loss in one forward, as DistributedDataParallel needs it."""

    def __init__(
        self,
        model: EncoderDecoder,
        label_smoothing: float,
        padding_free: bool = False,
        guided_alignment: GuidedAlignment | None = None,
    ):
        super().__init__()
        self.model = model
        self.forward_path = PaddingFreeForward(model) if padding_free else PaddedForward(model)
        self.loss = (ChunkedLoss if padding_free else TokenLoss)(model.output, label_smoothing)
        self.guided_alignment = guided_alignment

    def forward(self, batch: Batch) -> LossTotals:
        states, alignment_loss = self.states(batch)
        totals = self.loss(states, self.labels(batch))
        return totals._replace(objective=totals.objective + alignment_loss)

    def states(self, batch: Batch) -> tuple[Tensor, Tensor | float]:
        """The hidden states (N, D) of the real target tokens, and the guided alignment term of the objective."""
        if self.guided_alignment is None or not self.training:
            return self.forward_path(batch.source, batch.target_in), 0.0
        states, scores = self.forward_path.forward_with_scores(
            batch.source, batch.target_in, self.guided_alignment.layer
        )
        return states, self.guided_alignment.loss(scores, batch)

    def labels(self, batch: Batch) -> Tensor:
        """The real tokens to predict: (N,)."""
        return batch.target_out[batch.target_out != self.model.pad]


class RDrop(LossModule):
    """R-Drop: every batch twice, with different dropout; the divergence of the two predictions p and q is minimized.

    (ce(p) + ce(q)) / 2 + weight · (KL(p‖q) + KL(q‖p)) / 4: the loss of Liang et al. 2021 with its weight α, halved as a
    whole so that a token weighs as much as without it.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        label_smoothing: float,
        kl_weight: float,
        padding_free: bool = False,
        guided_alignment: GuidedAlignment | None = None,
    ):
        super().__init__(model, label_smoothing, padding_free, guided_alignment)
        self.kl_weight = kl_weight

    def forward(self, batch: Batch) -> LossTotals:
        if not self.training:
            return super().forward(batch)
        labels = self.labels(batch)
        states, alignment_loss = self.states(batch.duplicate())  # (2N, D)
        p, q = (self.loss.predict(half) for half in states.chunk(2))
        first, second = self.loss.totals(p, labels), self.loss.totals(q, labels)
        symmetric_kl = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p‖q) + KL(q‖p)
        return LossTotals(
            (first.objective + second.objective + alignment_loss) / 2 + self.kl_weight * symmetric_kl / 4,
            (first.loss + second.loss) / 2,
            (first.correct + second.correct) / 2,
        )
