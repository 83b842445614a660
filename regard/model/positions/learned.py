"""Absolute schemes with a learned table, or beside the embedding."""

import torch
from torch import Tensor, nn

from regard.errors import ModelError
from regard.model.positions.absolute import Absolute


class Learned(Absolute):
    """A learned vector for each position up to a limit, added to the embedding."""

    def __init__(self, dim: int, length: int, offset: int = 0):
        super().__init__(offset)
        self.limit = length
        self.table = nn.Parameter(torch.empty(length, dim))
        nn.init.normal_(self.table, std=0.02)

    def vectors(self, position_ids: Tensor, like: Tensor) -> Tensor:
        check_positions(position_ids, len(self.table))
        return self.table[position_ids]


class Concatenated(Absolute):
    """The encodings of another absolute scheme, concatenated to the embedding instead of added."""

    def __init__(self, width: int, encoding: Absolute):
        super().__init__(encoding.offset)
        self.width = width
        self.limit = encoding.limit
        self.encoding = encoding

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        vectors = self.encoding.vectors(position_ids, x)
        return torch.cat((x, vectors.expand(*x.shape[:-1], -1)), dim=-1)


def check_positions(position_ids: Tensor, length: int) -> None:
    """Refuse positions that a learned table does not have."""
    if int(position_ids.max()) >= length or int(position_ids.min()) < 0:
        raise ModelError(
            f"a sentence of {int(position_ids.max()) + 1} tokens is too long: the model has positions for {length} "
            "tokens (model.positions.length). Split the sentence, or train with a larger model.positions.length."
        )
