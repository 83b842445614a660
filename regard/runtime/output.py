"""The product of states with the output embedding: of the whole vocabulary, or of a shortlist of it."""

from typing import Protocol

import torch
from torch import Tensor, nn

from regard.data.shortlist import Shortlist
from regard.runtime.linears import LinearFactory, LinearFunction


class OutputProjection(Protocol):
    """The output projection of one batch."""

    def admit(self, source: Tensor) -> None:
        """Sentences with these sources (N, S) enter the batch."""
        ...

    def select(self, sentences: Tensor) -> None:
        """The sentences that stay, by their place in the batch (N,)."""
        ...

    def tokens_at(self, columns: Tensor) -> Tensor:
        """The ids of the tokens whose logits are in these columns."""
        ...

    def columns_of(self, tokens: Tensor) -> Tensor:
        """The columns of tokens which it has."""
        ...

    def __call__(self, x: Tensor) -> Tensor:
        """States (R, D) -> logits (R, columns)."""
        ...


class FullOutput:
    """A column for every token."""

    def __init__(self, linear: LinearFunction):
        self._linear = linear

    def admit(self, source: Tensor) -> None:
        pass

    def select(self, sentences: Tensor) -> None:
        pass

    def tokens_at(self, columns: Tensor) -> Tensor:
        return columns

    def columns_of(self, tokens: Tensor) -> Tensor:
        return tokens

    def __call__(self, x: Tensor) -> Tensor:
        return self._linear(x)


class ShortlistOutput:
    """A column for every token that the sentences of the batch have on their shortlist, all of them together.

    A list for each sentence would take a product for each, or a mask over the logits of all at every step. Its rows of
    the weight are gathered whenever sentences enter.
    """

    def __init__(self, output: nn.Module, linear_factory: LinearFactory, shortlist: Shortlist):
        self._output, self._linear_factory, self._shortlist = output, linear_factory, shortlist
        self._sources: list[list[int]] = []
        self._ids = torch.empty(0, dtype=torch.long)
        self._linear: LinearFunction | None = None

    def admit(self, source: Tensor) -> None:
        self._sources += source.tolist()
        ids = self._shortlist.select(token for row in self._sources for token in row)
        weight, bias = self._output.weight, getattr(self._output, "bias", None)
        self._ids = torch.from_numpy(ids).to(source.device)
        assert isinstance(weight, Tensor)
        self._linear = self._linear_factory(weight[self._ids], None if bias is None else bias[self._ids])

    def select(self, sentences: Tensor) -> None:
        self._sources = [self._sources[i] for i in sentences.tolist()]

    def tokens_at(self, columns: Tensor) -> Tensor:
        return self._ids[columns]

    def columns_of(self, tokens: Tensor) -> Tensor:
        return torch.searchsorted(self._ids, tokens)

    def __call__(self, x: Tensor) -> Tensor:
        assert self._linear is not None  # a sentence has entered
        return self._linear(x)
