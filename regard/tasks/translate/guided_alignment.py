"""Guided alignment: heads of cross-attention learn the word alignments of IBM Model 1.  Chen et al. 2016.

Without it, a decoder spends much of a short training on learning to attend to its source at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.config import Config, Head
from regard.data.batch import Batch
from regard.data.ibm_model1 import TranslationTable
from regard.data.tokenizers.tokenizer import PAD
from regard.tasks.loss import ProgressValue


@dataclass(frozen=True)
class GuidedAlignment:
    """-Σ a log w: the cross-entropy of the attention weights w of a head with alignments a; of several, their mean."""

    lexicon: TranslationTable
    weight: ProgressValue
    heads: tuple[Head, ...]

    def loss(self, scores: Sequence[Tensor], batch: Batch) -> Tensor:
        """The term to add to the objective of a batch, given the scores (B, T, S) of each head."""
        source, target = batch.source, batch.target_out
        alignment = self.lexicon.align(source.cpu().numpy(), target.cpu().numpy())  # (B, T, S)
        log_likelihoods = [
            _log_likelihoods(head_scores, torch.from_numpy(alignment).to(head_scores), source)[target != PAD].sum()
            for head_scores in scores
        ]
        return -self.weight.value * torch.stack(log_likelihoods).mean()


def _log_likelihoods(scores: Tensor, alignment: Tensor, source: Tensor) -> Tensor:
    """Σ a log w over the source, for each token of the target: (B, T)."""
    min_score = torch.finfo(scores.dtype).min
    log_weights = scores.masked_fill((source == PAD)[:, None, :], min_score).log_softmax(dim=-1)
    return (alignment * log_weights).sum(dim=-1)


def guided_layer(layers: int) -> int:
    """The decoder layer to guide: low enough for the layers above to use its alignments."""
    return (layers - 1) // 2


def guided_heads(config: Config) -> tuple[Head, ...]:
    """The heads that training with these settings aligns; none without guided alignment."""
    if not config.train.guided_alignment:
        return ()
    if config.train.guided_heads:
        return tuple(map(Head.parse, config.train.guided_heads))
    layer = guided_layer(config.model.depth("decoder"))
    return (Head("decoder", layer, "cross", config.model.kept_heads(f"decoder.{layer}.cross")[0]),)
