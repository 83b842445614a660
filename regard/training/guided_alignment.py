"""Showing attention where to look: one head of cross-attention is taught what counting has found to belong together.

Left alone, a decoder spends much of a short training on finding out that it has a source at all.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.batch import Batch
from regard.data.ibm_model1 import TranslationTable
from regard.data.tokenizer import PAD


@dataclass(frozen=True)
class GuidedAlignment:
    """-Σ a log w: the cross-entropy of a head's weights w with alignments a.  Chen et al. 2016."""

    lexicon: TranslationTable
    weight: float
    layer: int
    """Of the decoder; its first head is the one that is taught."""

    def loss(self, scores: Tensor, batch: Batch) -> Tensor:
        """What to add to the objective of a batch, given the head's scores (B, T, S)."""
        source, target = batch.source, batch.target_out
        alignment = self.lexicon.align(source.cpu().numpy(), target.cpu().numpy())  # (B, T, S)
        min_score = torch.finfo(scores.dtype).min
        log_weights = scores.masked_fill((source == PAD)[:, None, :], min_score).log_softmax(dim=-1)
        log_likelihoods = (torch.from_numpy(alignment).to(scores) * log_weights).sum(dim=-1)  # (B, T)
        return -self.weight * log_likelihoods[target != PAD].sum()


def guided_layer(layers: int) -> int:
    """The layer to guide: early enough for those above it to build on what it finds."""
    return (layers - 1) // 2
