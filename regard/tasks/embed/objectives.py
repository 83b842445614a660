"""What vectors are trained for: a text nearest to its positive, or pairs in the order of their similarity.

Both are a softmax over cosines divided by a temperature, and both are summed over rows. What a row is compared with is
the whole batch, of all processes that train together.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.kernels import GatheredRows
from regard.tasks.embed.batch import RelatedBatch
from regard.tasks.loss import LossTotals

Gather = Callable[[Tensor], GatheredRows]
"""The rows of this process -> those of all processes."""


class VectorObjective(Protocol):
    """The loss of vectors of length 1, in the order of the texts of a batch: (P · B, D)."""

    def __call__(self, vectors: Tensor, batch: RelatedBatch, gather: Gather) -> LossTotals: ...


@dataclass(frozen=True)
class InBatchSoftmax:
    """−log softmax of the cosine of a text and its positive, among all positives and hard negatives of the batch.

    Henderson et al. 2017, Efficient natural language response suggestion; InfoNCE. In both directions, each positive
    must find its text among all texts, too, and the loss is the mean of the two.
    """

    temperature: float = 0.05
    both_directions: bool = False

    def __call__(self, vectors: Tensor, batch: RelatedBatch, gather: Gather) -> LossTotals:
        size = batch.num_targets
        texts, positives, negatives = vectors[:size], vectors[size : 2 * size], vectors[2 * size :]
        all_positives, begin = gather(positives)
        related, related_negatives = find_related(batch, gather)
        candidates = torch.cat((all_positives, gather(negatives).rows))
        own = torch.arange(begin, begin + size, device=vectors.device)
        excluded = torch.cat((related, related_negatives), dim=1)
        log_probs = self.log_probs(texts, candidates, excluded)
        loss = F.nll_loss(log_probs, own, reduction="sum")
        if self.both_directions:
            reverse = self.log_probs(positives, gather(texts).rows, related)
            loss = (loss + F.nll_loss(reverse, own, reduction="sum")) / 2
        return LossTotals(loss, loss.detach(), (log_probs.detach().argmax(dim=1) == own).sum())

    def log_probs(self, vectors: Tensor, candidates: Tensor, excluded: Tensor) -> Tensor:
        """(B, D), (C, D), (B, C) -> (B, C)."""
        logits = vectors @ candidates.T / self.temperature
        return logits.masked_fill(excluded, -math.inf).log_softmax(dim=1)


def find_related(batch: RelatedBatch, gather: Gather) -> tuple[Tensor, Tensor]:
    """Which positives, and which hard negatives, of the batch are no negatives of each row: (B, ΣB) and (B, ΣK).

    Two rows that have a text in common say nothing about what their other texts mean to each other. A hard negative
    that is the text itself, or its positive, is none.
    """
    size = batch.num_targets
    texts, positives, negatives = batch.keys[:size], batch.keys[size : 2 * size], batch.keys[2 * size :]
    all_texts, begin = gather(texts)
    all_positives, all_negatives = gather(positives).rows, gather(negatives).rows
    related = _any_equal((texts, positives), (all_texts, all_positives))
    rows = torch.arange(size, device=texts.device)
    related[rows, begin + rows] = False
    return related, _any_equal((texts, positives), (all_negatives,))


def _any_equal(first: tuple[Tensor, ...], second: tuple[Tensor, ...]) -> Tensor:
    """Where any of the numbers of a row equals any of those of a column: (B,) … and (C,) … -> (B, C)."""
    return torch.stack([one[:, None] == other[None] for one in first for other in second]).any(dim=0)


@dataclass(frozen=True)
class SimilarityRanking:
    """−log softmax of the cosine of a pair, among its own and those of all pairs of the batch that are less similar.

    The likelihood of an order by Plackett and Luce, as in ListMLE (Xia et al. 2008): only the order of similarities
    counts, as it does for Spearman's correlation.
    """

    temperature: float = 0.05

    def __call__(self, vectors: Tensor, batch: RelatedBatch, gather: Gather) -> LossTotals:
        assert batch.similarities is not None
        size = batch.num_targets
        cosines = (vectors[:size] * vectors[size : 2 * size]).sum(dim=1)  # (B,)
        all_cosines, begin = gather(cosines)
        rows = torch.arange(size, device=vectors.device)
        compared = gather(batch.similarities).rows[None] < batch.similarities[:, None]  # (B, ΣB)
        compared[rows, begin + rows] = True
        logits = (all_cosines / self.temperature).expand(size, -1).masked_fill(~compared, -math.inf)
        log_probs = logits.log_softmax(dim=1)
        loss = F.nll_loss(log_probs, begin + rows, reduction="sum")
        return LossTotals(loss, loss.detach(), (log_probs.detach().argmax(dim=1) == begin + rows).sum())
