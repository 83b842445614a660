"""What decoding remembers from one token to the next."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.model.attention import KeyValues


@dataclass(frozen=True)
class Memory:
    """What the decoder knows of the source: for each layer its keys and values, and which of them are real."""

    layers: tuple[KeyValues, ...]
    keep: Tensor  # (B, 1, 1, S)

    def select(self, rows: Tensor) -> "Memory":
        """The memory of other rows: repeated for beams, reordered, or without those that are finished."""
        return Memory(tuple(_select(layer, rows) for layer in self.layers), self.keep[rows])


@dataclass
class Cache:
    """Keys and values of the target so far, in every layer."""

    layers: dict[int, KeyValues] = field(default_factory=dict)
    keep: Tensor | None = None  # (B, 1, 1, Tk)

    @property
    def length(self) -> int:
        """How many tokens are remembered."""
        return 0 if self.keep is None else self.keep.shape[-1]

    def extend(self, layer: int, new: KeyValues) -> KeyValues:
        """Remember new tokens of a layer; all of its tokens so far."""
        if layer in self.layers:
            past = self.layers[layer]
            at = torch.cat((past.at.expand(len(new.k), -1), new.at.expand(len(new.k), -1)), dim=1)
            new = KeyValues(torch.cat((past.k, new.k), dim=2), torch.cat((past.v, new.v), dim=2), at)
        self.layers[layer] = new
        return new

    def extend_keep(self, real: Tensor) -> Tensor:
        """Remember which new tokens are real; the same of all tokens so far."""
        self.keep = real if self.keep is None else torch.cat((self.keep, real), dim=-1)
        return self.keep

    def select(self, rows: Tensor) -> None:
        """Go on with other rows."""
        self.layers = {i: _select(layer, rows) for i, layer in self.layers.items()}
        self.keep = None if self.keep is None else self.keep[rows]


def _select(seen: KeyValues, rows: Tensor) -> KeyValues:
    at = seen.at if len(seen.at) == 1 else seen.at[rows]
    return KeyValues(seen.k[rows], seen.v[rows], at)
