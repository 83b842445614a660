"""The decoder one token at a time: the numbers of `EncoderDecoder.decode` with a `Cache`, in less time.

`Stepwise` holds a model's products ready. A `Walk` is a batch on its way that sentences leave and enter as they like:
keys and values stand in places that are made ahead, and what is known of a source is kept once for all of its beams.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.model.attention import KeyValues
from regard.model.layers import DecoderLayer
from regard.model.packed import Packed
from regard.model.products import Maker, Prepared, dense
from regard.model.transformer import EncoderDecoder

PLACES = 16  # tokens for which room is made at a time


class Stepwise:
    """A model made ready for decoding; later changes of its weights are not seen."""

    def __init__(self, model: EncoderDecoder, make: Maker = dense):
        self.model = model
        self.products = Prepared(make)
        self.reader = Packed(model, self.products)
        self.layers: list[DecoderLayer] = list(model.decoder.layers)  # type: ignore[arg-type]

    def begin(self, width: int = 1) -> "Walk":
        """A batch that nobody has entered yet, of so many rows a sentence."""
        return Walk(self, width)


class _Places(NamedTuple):
    """Where new tokens stand (R or 1, 1), where their keys stand (R or 1, t), and which of these are the row's own."""

    at: Tensor
    seen: Tensor
    keep: Tensor | None  # (R, 1, 1, t); None: all


class Walk:
    """N sentences in the middle of decoding, `width` rows each, R in all. All rows write into the same column.

    A sentence that enters late has nothing in the columns before: its places count from where it began.
    """

    def __init__(self, stepwise: Stepwise, width: int):
        self.stepwise = stepwise
        self.width = width
        self._length = 0  # columns that are filled
        self._start = torch.zeros(0, dtype=torch.long)  # (R,) the first column of each row
        self._even = True  # whether all rows began in the first column
        self._memory: list[KeyValues] = []  # of each layer: (N, H, S, K)
        self._keep: Tensor | None = None  # (N, 1, 1, S) which of it is real; None: all
        self._keys: list[Tensor] = []  # of each layer: (R, H, places, K)
        self._values: list[Tensor] = []

    def __len__(self) -> int:
        return len(self._start) // self.width

    def enter(self, source: Tensor) -> None:
        """More sentences (N, S), below those that are there."""
        memory, keep = self.stepwise.reader.read(source)
        rows = len(source) * self.width
        if not len(self):
            self._begin(memory, keep, rows)
            return
        self._trim()
        wide = max(memory[0].k.shape[2], self._memory[0].k.shape[2])
        self._keep = _below(self._real(), _real(memory[0], keep), wide)
        self._memory = [_join(old, new, wide) for old, new in zip(self._memory, memory, strict=True)]
        self._start = torch.cat((self._start, self._start.new_full((rows,), self._length)))
        self._even = not bool(self._start.any())
        # Never written and never looked at, but 0 · nan is nan: so let it be zeros.
        self._keys, self._values = (
            [torch.cat((x, x.new_zeros(rows, *x.shape[1:]))) for x in side] for side in (self._keys, self._values)
        )

    def step(self, last: Tensor) -> Tensor:
        """The last token of each row (R,) -> logits of the next (R, V)."""
        decoder, products = self.stepwise.model.decoder, self.stepwise.products
        places = self._places()
        x = decoder.embedding(last[:, None], places.at)[:, 0]  # (R, D)
        self._make_room()
        for i, layer in enumerate(self.stepwise.layers):
            x = layer.around_self(x, lambda h, i=i, layer=layer: self._self(i, layer, h, places), _add)
            x = layer.around_cross(x, lambda h, i=i, layer=layer: self._cross(i, layer, h, places), _add)
            x = layer.around_feed(x, lambda h, layer=layer: products.feed(layer.feed, h), _add)
        self._length += 1
        return products(decoder.norm(x), (self.stepwise.model.output,))

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        sentences = rows[:: self.width] // self.width
        self._start = self._start[rows]
        self._keys, self._values = ([x.index_select(0, rows) for x in side] for side in (self._keys, self._values))
        here = torch.arange(len(sentences), device=rows.device)
        if len(sentences) < len(self._memory[0].k) or not torch.equal(sentences, here):
            self._memory = [
                KeyValues(k.index_select(0, sentences), v.index_select(0, sentences), at) for k, v, at in self._memory
            ]
            self._keep = None if self._keep is None else self._keep[sentences]

    def _begin(self, memory: list[KeyValues], keep: Tensor | None, rows: int) -> None:
        self._memory, self._keep = memory, keep
        self._length, self._even = 0, True
        self._start = torch.zeros(rows, dtype=torch.long, device=memory[0].k.device)
        own = [layer.self for layer in self.stepwise.layers]
        empty = [memory[0].k.new_zeros(rows, attention.heads, 0, attention.width) for attention in own]
        self._keys, self._values = list(empty), list(empty)

    def _places(self) -> _Places:
        columns = torch.arange(self._length + 1, device=self._start.device)[None]
        if self._even:
            return _Places(columns[:, -1:], columns, None)
        seen = columns - self._start[:, None]  # (R, t)
        return _Places(seen[:, -1:], seen.clamp(min=0), (seen >= 0)[:, None, None])

    def _real(self) -> Tensor:
        return _real(self._memory[0], self._keep)

    def _trim(self) -> None:
        """Forget columns that no row has anything in, and what of the sources is padding for all."""
        first = int(self._start.min())
        self._keys, self._values = ([x[:, :, first:] for x in side] for side in (self._keys, self._values))
        self._length, self._start = self._length - first, self._start - first
        longest = int(self._real().sum(dim=-1).max())
        self._memory = [KeyValues(k[:, :, :longest], v[:, :, :longest], at[:, :longest]) for k, v, at in self._memory]
        self._keep = None if self._keep is None else self._keep[..., :longest]

    def _make_room(self) -> None:
        if self._length < self._keys[0].shape[2]:
            return
        self._keys, self._values = (
            [torch.cat((x, x.new_zeros(*x.shape[:2], PLACES, x.shape[3])), dim=2) for x in side]
            for side in (self._keys, self._values)
        )

    def _self(self, i: int, layer: DecoderLayer, x: Tensor, places: _Places) -> Tensor:
        attention, products = layer.self, self.stepwise.products
        together = products(x, (attention.q, attention.k, attention.v))
        q, k, v = together.view(len(x), 3, attention.heads, 1, -1).unbind(1)  # (R, H, 1, K) each
        self._keys[i][:, :, self._length] = attention.positions.turn(k, places.at)[:, :, 0]
        self._values[i][:, :, self._length] = v[:, :, 0]
        past = slice(0, self._length + 1)
        seen = KeyValues(self._keys[i][:, :, past], self._values[i][:, :, past], places.seen)
        mixed = attention.mix(attention.positions.turn(q, places.at), seen, places.keep, places.at)
        return products(mixed.flatten(1), (attention.out,))

    def _cross(self, i: int, layer: DecoderLayer, x: Tensor, places: _Places) -> Tensor:
        attention, products, seen = layer.cross, self.stepwise.products, self._memory[i]
        # The rows of a sentence ask together, like tokens of one sequence: (N, H, width, K).
        q = products(x, (attention.q,)).view(-1, self.width, attention.heads, attention.width)
        at = places.at[:: self.width].expand(-1, self.width)
        mixed = attention.mix(q.transpose(1, 2), seen, self._keep, at)
        return products(mixed.transpose(1, 2).reshape(len(x), -1), (attention.out,))


def _add(x: Tensor, y: Tensor, dropout: float) -> Tensor:
    return x + y


def _real(seen: KeyValues, keep: Tensor | None) -> Tensor:
    """Which keys (N, 1, 1, S) are real, said aloud."""
    count, _, length, _ = seen.k.shape
    return keep if keep is not None else torch.ones(count, 1, 1, length, dtype=torch.bool, device=seen.k.device)


def _below(upper: Tensor, lower: Tensor, wide: int) -> Tensor | None:
    """One mask below the other, as wide as the wider."""
    both = torch.cat([F.pad(real, (0, wide - real.shape[-1])) for real in (upper, lower)])
    return None if bool(both.all()) else both


def _join(upper: KeyValues, lower: KeyValues, wide: int) -> KeyValues:
    """The keys and values of some sentences below those of others."""
    k, v = (
        torch.cat([F.pad(x, (0, 0, 0, wide - x.shape[2])) for x in pair])
        for pair in ((upper.k, lower.k), (upper.v, lower.v))
    )
    return KeyValues(k, v, max(upper.at, lower.at, key=lambda at: at.shape[1]))
