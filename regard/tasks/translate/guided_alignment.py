"""Guided alignment: one head of cross-attention learns the word alignments of IBM Model 1.  Chen et al. 2016.

Without it, a decoder spends much of a short training on learning to attend to its source at all.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config import Config, Head
from regard.data.batch import Batch
from regard.data.ibm_model1 import TranslationTable
from regard.data.tokenizers.tokenizer import PAD


@dataclass(frozen=True)
class GuidedAlignment:
    """-Σ a log w: the cross-entropy of the attention weights w of a head with alignments a."""

    lexicon: TranslationTable
    weight: float
    layer: int
    """Of the decoder; its first head is guided."""

    def loss(self, scores: Tensor, batch: Batch) -> Tensor:
        """The term to add to the objective of a batch, given the scores of the head (B, T, S)."""
        source, target = batch.source, batch.target_out
        alignment = self.lexicon.align(source.cpu().numpy(), target.cpu().numpy())  # (B, T, S)
        min_score = torch.finfo(scores.dtype).min
        log_weights = scores.masked_fill((source == PAD)[:, None, :], min_score).log_softmax(dim=-1)
        log_likelihoods = (torch.from_numpy(alignment).to(scores) * log_weights).sum(dim=-1)  # (B, T)
        return -self.weight * log_likelihoods[target != PAD].sum()


def guided_layer(layers: int) -> int:
    """The decoder layer to guide: low enough for the layers above to use its alignments."""
    return (layers - 1) // 2


def guided_head(config: Config) -> Head | None:
    """The head that training with these settings aligns; None without guided alignment."""
    if not config.train.guided_alignment:
        return None
    return Head("decoder", guided_layer(config.model.depth("decoder")), "cross", 0)
