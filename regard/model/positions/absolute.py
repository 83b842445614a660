"""Absolute schemes: each embedding gets the encoding of its own position."""

import math

import torch
from torch import Tensor

from regard.model.positions.base import Positions


def sinusoid(position_ids: Tensor, dim: int, base: float = 10_000.0, halves: bool = False) -> Tensor:
    """PE[p, 2t] = sin(p / base^(2t/D)), PE[p, 2t+1] = cos(p / base^(2t/D)).  Vaswani et al. 2017, section 3.5.

    Halves: the same numbers, all sines before all cosines.
    """
    even = torch.arange(0, dim, 2, dtype=torch.float64)  # (⌈D/2⌉,); on the CPU, since not every device has float64
    angle = position_ids[..., None].cpu().double() * torch.exp(even * (-math.log(base) / dim))  # (…, T, ⌈D/2⌉)
    pair = (angle.sin(), angle.cos())
    waves = torch.cat(pair, dim=-1) if halves else torch.stack(pair, dim=-1).flatten(-2)
    return waves[..., :dim]  # (…, T, D)


class Absolute(Positions):
    """What absolute schemes share: in training, each sentence may start at a random position from 0 to `offset`.

    So a model cannot rely on absolute numbers, and learns what lies between them.  SHAPE, Kiyono et al. 2021.
    """

    def __init__(self, offset: int = 0):
        super().__init__()
        self.offset = offset

    def shift_positions(self, position_ids: Tensor, rows: int) -> Tensor:
        if not (self.training and self.offset):
            return position_ids
        return position_ids + torch.randint(self.offset + 1, (rows, 1), device=position_ids.device)

    def vectors(self, position_ids: Tensor, like: Tensor) -> Tensor:
        """The encoding of each position."""
        raise NotImplementedError

    def embed(self, x: Tensor, position_ids: Tensor) -> Tensor:
        return x + self.vectors(position_ids, x)


class Sinusoidal(Absolute):
    """Sinusoids of geometrically growing wavelength, added to the embedding."""

    def __init__(self, dim: int, offset: int = 0, precomputed_length: int = 512, halves: bool = False):
        super().__init__(offset)
        self.dim = dim
        self.halves = halves
        # Only a cache of the formula: positions beyond it are computed when needed.
        self.register_buffer("table", self._sinusoid(torch.arange(precomputed_length)).float(), persistent=False)
        self.table: Tensor

    def vectors(self, position_ids: Tensor, like: Tensor) -> Tensor:
        if int(position_ids.max()) >= len(self.table) or int(position_ids.min()) < 0:
            return self._sinusoid(position_ids).to(like)
        return self.table[position_ids].to(like.dtype)

    def _sinusoid(self, position_ids: Tensor) -> Tensor:
        return sinusoid(position_ids, self.dim, halves=self.halves)
