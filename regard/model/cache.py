"""What decoding remembers from one token to the next."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.model.attention import KeyValues


@dataclass(frozen=True)
class EncoderMemory:
    """What the decoder knows of the source: for each layer its keys and values, and which of them are real."""

    layers: tuple[KeyValues, ...]
    attn_mask: Tensor  # (B, 1, 1, S)

    def select(self, rows: Tensor) -> "EncoderMemory":
        """The memory of other rows: repeated for beams, reordered, or without those that are finished."""
        return EncoderMemory(tuple(_select_rows(layer, rows) for layer in self.layers), self.attn_mask[rows])


@dataclass
class Cache:
    """Keys and values of the target so far, in every layer."""

    layers: dict[int, KeyValues] = field(default_factory=dict)
    attn_mask: Tensor | None = None  # (B, 1, 1, Tk)

    @property
    def length(self) -> int:
        """How many tokens are remembered."""
        return 0 if self.attn_mask is None else self.attn_mask.shape[-1]

    def extend(self, layer: int, new: KeyValues) -> KeyValues:
        """Remember new tokens of a layer; all of its tokens so far."""
        if layer in self.layers:
            past = self.layers[layer]
            position_ids = torch.cat(
                (past.position_ids.expand(len(new.k), -1), new.position_ids.expand(len(new.k), -1)), dim=1
            )
            new = KeyValues(torch.cat((past.k, new.k), dim=2), torch.cat((past.v, new.v), dim=2), position_ids)
        self.layers[layer] = new
        return new

    def extend_mask(self, padding_mask: Tensor) -> Tensor:
        """Remember which new tokens are real; the same of all tokens so far."""
        self.attn_mask = padding_mask if self.attn_mask is None else torch.cat((self.attn_mask, padding_mask), dim=-1)
        return self.attn_mask

    def select(self, rows: Tensor) -> None:
        """Go on with other rows."""
        self.layers = {i: _select_rows(layer, rows) for i, layer in self.layers.items()}
        self.attn_mask = None if self.attn_mask is None else self.attn_mask[rows]


def _select_rows(kv: KeyValues, rows: Tensor) -> KeyValues:
    position_ids = kv.position_ids if len(kv.position_ids) == 1 else kv.position_ids[rows]
    return KeyValues(kv.k[rows], kv.v[rows], position_ids)
