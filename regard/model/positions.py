"""Where order enters the model. Each scheme is an object with every door shut but its own.

`at` says where each token stands: integers that broadcast to (B, T). Every row may stand elsewhere, which is how
padding on the left, caches and packed sentences come out right.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.errors import ModelError


class Positions(nn.Module):
    """No positions, and the interface of all the others: identity unless a scheme says otherwise."""

    width = 0
    """How many of the D dimensions the scheme keeps for itself, beside the word."""

    limit = sys.maxsize
    """The longest sequence that has places to stand."""

    def embed(self, x: Tensor, at: Tensor) -> Tensor:
        """Mark word vectors x (B, T, D - width) with where they stand: (B, T, D)."""
        return x

    def turn(self, q: Tensor, at: Tensor) -> Tensor:
        """Rotate queries or keys (B, H, T, K) by where they stand."""
        return q

    def bias(self, q: Tensor, q_at: Tensor, k_at: Tensor) -> Tensor | None:
        """What to add to the scores, broadcastable to (B, H, Tq, Tk); None for nothing."""
        return None


def sinusoid(at: Tensor, dim: int, base: float = 10_000.0) -> Tensor:
    """PE[p, 2t] = sin(p / base^(2t/D)), PE[p, 2t+1] = cos(p / base^(2t/D)).  Vaswani et al. 2017, section 3.5."""
    even = torch.arange(0, dim, 2, dtype=torch.float64)  # (⌈D/2⌉,); on the CPU, since not every device has float64
    angle = at[..., None].cpu().double() * torch.exp(even * (-math.log(base) / dim))  # (…, T, ⌈D/2⌉)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)[..., :dim]  # (…, T, D)


class Sinusoidal(Positions):
    """Waves of geometrically growing length, added to the word."""

    def __init__(self, dim: int, precomputed: int = 512):
        super().__init__()
        self.dim = dim
        # Only a cache of the formula: positions beyond it are computed when they come.
        self.register_buffer("table", sinusoid(torch.arange(precomputed), dim).float(), persistent=False)
        self.table: Tensor

    def embed(self, x: Tensor, at: Tensor) -> Tensor:
        last = int(at.max())
        if last >= len(self.table) or int(at.min()) < 0:
            return x + sinusoid(at, self.dim).to(x)
        return x + self.table[at].to(x.dtype)


class Learned(Positions):
    """A vector for each position up to a limit, added to the word. Beyond the limit there is nothing to look up."""

    def __init__(self, dim: int, length: int):
        super().__init__()
        self.limit = length
        self.table = nn.Parameter(torch.empty(length, dim))
        nn.init.normal_(self.table, std=0.02)

    def embed(self, x: Tensor, at: Tensor) -> Tensor:
        length = len(self.table)
        if int(at.max()) >= length or int(at.min()) < 0:
            raise ModelError(
                f"a sentence of {int(at.max()) + 1} pieces is too long: model.positions.length={length} is all that "
                f"this model has learnt. Split the sentence, or train with a larger model.positions.length."
            )
        return x + self.table[at]


@dataclass(frozen=True)
class Shape:
    """What a scheme may need to know of the model around it."""

    dim: int
    heads: int
    length: int


@dataclass(frozen=True)
class Scheme:
    """Where a scheme stands: one object at the embeddings, one in each self-attention."""

    embedding: Callable[[Shape], Positions] = lambda shape: Positions()
    attention: Callable[[Shape], Positions] = lambda shape: Positions()


SCHEMES = {
    "none": Scheme(),
    "sinusoidal": Scheme(embedding=lambda shape: Sinusoidal(shape.dim)),
    "learned": Scheme(embedding=lambda shape: Learned(shape.dim, shape.length)),
}
