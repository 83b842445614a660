"""Schemes that mark each word with where it stands."""

import math

import torch
from torch import Tensor, nn

from regard.errors import ModelError
from regard.model.positions.base import Positions


def sinusoid(at: Tensor, dim: int, base: float = 10_000.0, halves: bool = False) -> Tensor:
    """PE[p, 2t] = sin(p / base^(2t/D)), PE[p, 2t+1] = cos(p / base^(2t/D)).  Vaswani et al. 2017, section 3.5.

    Halves: the same numbers, all sines before all cosines.
    """
    even = torch.arange(0, dim, 2, dtype=torch.float64)  # (⌈D/2⌉,); on the CPU, since not every device has float64
    angle = at[..., None].cpu().double() * torch.exp(even * (-math.log(base) / dim))  # (…, T, ⌈D/2⌉)
    pair = (angle.sin(), angle.cos())
    waves = torch.cat(pair, dim=-1) if halves else torch.stack(pair, dim=-1).flatten(-2)
    return waves[..., :dim]  # (…, T, D)


class Absolute(Positions):
    """What absolute schemes share: in training, each sentence may begin at a random place from 0 to `offset`.

    So a model cannot rely on absolute numbers, and learns what lies between them.  SHAPE, Kiyono et al. 2021.
    """

    def __init__(self, offset: int = 0):
        super().__init__()
        self.offset = offset

    def shift(self, at: Tensor, rows: int) -> Tensor:
        if not (self.training and self.offset):
            return at
        return at + torch.randint(self.offset + 1, (rows, 1), device=at.device)

    def vectors(self, at: Tensor, like: Tensor) -> Tensor:
        """The vector of each place."""
        raise NotImplementedError

    def embed(self, x: Tensor, at: Tensor) -> Tensor:
        return x + self.vectors(at, x)


class Sinusoidal(Absolute):
    """Waves of geometrically growing length, added to the word."""

    def __init__(self, dim: int, offset: int = 0, precomputed: int = 512, halves: bool = False):
        super().__init__(offset)
        self.dim = dim
        self.halves = halves
        # Only a cache of the formula: positions beyond it are computed when they come.
        self.register_buffer("table", self._waves(torch.arange(precomputed)).float(), persistent=False)
        self.table: Tensor

    def vectors(self, at: Tensor, like: Tensor) -> Tensor:
        if int(at.max()) >= len(self.table) or int(at.min()) < 0:
            return self._waves(at).to(like)
        return self.table[at].to(like.dtype)

    def _waves(self, at: Tensor) -> Tensor:
        return sinusoid(at, self.dim, halves=self.halves)


class Learned(Absolute):
    """A vector for each position up to a limit, added to the word. Beyond the limit there is nothing to look up."""

    def __init__(self, dim: int, length: int, offset: int = 0):
        super().__init__(offset)
        self.limit = length
        self.table = nn.Parameter(torch.empty(length, dim))
        nn.init.normal_(self.table, std=0.02)

    def vectors(self, at: Tensor, like: Tensor) -> Tensor:
        within(at, len(self.table))
        return self.table[at]


class Concatenated(Absolute):
    """The vectors of another absolute scheme, beside the word instead of added to it."""

    def __init__(self, width: int, beside: Absolute):
        super().__init__(beside.offset)
        self.width = width
        self.limit = beside.limit
        self.beside = beside

    def embed(self, x: Tensor, at: Tensor) -> Tensor:
        vectors = self.beside.vectors(at, x)
        return torch.cat((x, vectors.expand(*x.shape[:-1], -1)), dim=-1)


def within(at: Tensor, length: int) -> None:
    """Refuse places that a table has no row for."""
    if int(at.max()) >= length or int(at.min()) < 0:
        raise ModelError(
            f"a sentence of {int(at.max()) + 1} pieces is too long: model.positions.length={length} is all that this "
            f"model has learnt. Split the sentence, or train with a larger model.positions.length."
        )
