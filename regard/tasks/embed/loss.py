"""The loss of an encoder that embeds texts: that of its vectors."""

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.kernels import gather_rows, keep_rows
from regard.tasks.embed.batch import RelatedBatch
from regard.tasks.embed.objectives import VectorObjective
from regard.tasks.loss import LossModule, LossTotals
from regard.tasks.text_forward import SingleStack, make_forward, pool_states


class EmbeddingLoss(LossModule):
    """The objective that fits a batch, of pairs or of pairs with similarities, with the vectors of an encoder."""

    model: SingleStack

    def __init__(
        self, model: SingleStack, pairs: VectorObjective, similarities: VectorObjective, padding_free: bool = False
    ):
        super().__init__()
        self.model = model
        self.forward_path = make_forward(model, padding_free)
        self.pairs, self.similarities = pairs, similarities

    def forward(self, batch: RelatedBatch) -> LossTotals:
        vectors = self.embed(batch.ids)
        objective = self.pairs if batch.similarities is None else self.similarities
        # One process alone validates, so nothing is gathered then.
        with torch.autocast(vectors.device.type, enabled=False):  # cosines of bfloat16 would be too coarse
            return objective(vectors, batch, gather_rows if self.training else keep_rows)

    def embed(self, ids: Tensor) -> Tensor:
        """The vectors of texts, of length 1, in float32 at least: (N, T) -> (N, D)."""
        pooled = pool_states(self.model, self.forward_path(ids, None), ids != self.model.pad)
        return F.normalize(pooled.to(torch.promote_types(pooled.dtype, torch.float32)), dim=1)
