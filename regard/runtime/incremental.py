"""The decoder one token at a time: the numbers of `EncoderDecoder.decode` with a `Cache`, in less time.

`Stepwise` holds a model's products ready. A `Walk` is a batch on its way that sentences leave and enter as they like;
what is known of a source is kept once for all of its beams.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.kernels import hide
from regard.model.layers import DecoderLayer
from regard.model.transformer import EncoderDecoder
from regard.runtime.kv_cache import Shelf
from regard.runtime.linears import Maker, Prepared, dense
from regard.runtime.padding_free import Packed
from regard.runtime.source_cache import Mask, Memory, mix

PLACES = 16  # tokens for which room is made at a time


class Stepwise:
    """A model made ready for decoding; later changes of its weights are not seen."""

    def __init__(self, model: EncoderDecoder, make: Maker = dense):
        self.model = model
        self.products = Prepared(make)
        self.reader = Packed(model, self.products)
        self.layers: list[DecoderLayer] = list(model.decoder.layers)  # type: ignore[arg-type]
        self.ready = [_Ready(layer, self.products) for layer in self.layers]
        self.output = self.products.product(model.output)

    def begin(self, width: int = 1) -> "Walk":
        """A batch that nobody has entered yet, of so many rows a sentence."""
        return Walk(self, width)


class _Ready:
    """A decoder layer's products, at hand: one sentence takes little longer to compute than to look them up."""

    def __init__(self, layer: DecoderLayer, products: Prepared):
        self.layer = layer
        self.own, self.cross = layer.self, layer.cross
        self.qkv = products.product(layer.self.q, layer.self.k, layer.self.v)
        self.out = products.product(layer.self.out)
        self.cross_q = products.product(layer.cross.q)
        self.cross_out = products.product(layer.cross.out)
        self.feed = products.feeding(layer.feed)


class _Places(NamedTuple):
    """Where new tokens stand (R or 1, 1), where their keys stand (R or 1, t), and which of these are the row's own."""

    at: Tensor
    seen: Tensor
    mask: Mask


class Walk:
    """N sentences in the middle of decoding, `width` rows each, R in all. All rows write into the same column.

    A sentence that enters late has nothing in the columns before: its places count from where it began.
    """

    def __init__(self, stepwise: Stepwise, width: int):
        self.stepwise = stepwise
        self.width = width
        self._like = stepwise.model.output.weight
        self._own = [Shelf(layer.self, self._like) for layer in stepwise.layers]
        self._room = 0  # columns of it
        self._length = 0  # those that are filled
        self._start = torch.zeros(0, dtype=torch.long, device=self._like.device)  # (R,) the first column of each row
        self._even = True  # whether all rows began in the first column
        self._memory = Memory(stepwise.reader)

    def __len__(self) -> int:
        return len(self._start) // self.width

    def enter(self, source: Tensor) -> None:
        """More sentences (N, S), below those that are there."""
        forgotten, before = self._trim(), len(self)
        self._memory.enter(source)
        self._start = torch.cat((self._start, self._start.new_full((len(source) * self.width,), self._length)))
        self._even = not bool(self._start.any())
        self._make_room(forgotten)
        for shelf in self._own:
            shelf.clear(slice(before * self.width, None), slice(self._length))

    def step(self, last: Tensor) -> Tensor:
        """The last token of each row (R,) -> logits of the next (R, V)."""
        decoder = self.stepwise.model.decoder
        places = self._places()
        x = decoder.embedding(last[:, None], places.at)[:, 0]  # (R, D)
        if self._length == self._room:
            self._make_room()
        for i, (ready, own) in enumerate(zip(self.stepwise.ready, self._own, strict=True)):
            layer = ready.layer
            x = layer.around_self(x, lambda h, r=ready, shelf=own: self._self(r, shelf, h, places), _add)
            x = layer.around_cross(x, lambda h, r=ready, number=i: self._cross(r, number, h), _add)
            x = layer.around_feed(x, ready.feed, _add)
        self._length += 1
        return self.stepwise.output(decoder.norm(x))

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        self._start = self._start[rows]
        moved = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
        for shelf in self._own:
            shelf.select(rows, moved)
        self._memory.select(rows[:: self.width] // self.width)

    def _places(self) -> _Places:
        columns = torch.arange(self._length + 1, device=self._start.device)[None]
        if self._even:
            return _Places(columns[:, -1:], columns, Mask())
        seen = columns - self._start[:, None]  # (R, t)
        keep = (seen >= 0)[:, None, None]
        return _Places(seen[:, -1:], seen.clamp(min=0), Mask(keep, hide(keep, self._like)))

    def _trim(self) -> int:
        """Forget columns that no row has anything in; how many."""
        first = int(self._start.min()) if len(self) else self._length
        self._length, self._start = self._length - first, self._start - first
        return first

    def _make_room(self, forgotten: int = 0) -> None:
        """Room for a few more columns, where the first ones were forgotten."""
        self._room = self._length + PLACES
        for shelf in self._own:
            shelf.make_room(len(self._start), self._room, forgotten)

    def _self(self, ready: _Ready, shelf: Shelf, x: Tensor, places: _Places) -> Tensor:
        rows, attention = len(x), ready.own
        q, k, v = ready.qkv(x).view(rows, 3, attention.heads, 1, -1).unbind(1)  # (R, H, 1, K) each
        turn = attention.positions.turn
        shelf.put(slice(rows), slice(self._length, self._length + 1), turn(k, places.at), v)
        mixed = mix(attention, turn(q, places.at), shelf.seen(rows, places.seen), places.mask, places.at)
        return ready.out(mixed.flatten(1))

    def _cross(self, ready: _Ready, layer: int, x: Tensor) -> Tensor:
        attention = ready.cross
        # The rows of a sentence ask together, like tokens of one sequence: (N, H, width, K).
        q = ready.cross_q(x).view(-1, self.width, attention.heads, attention.width).transpose(1, 2)
        mixed = self._memory.mix(layer, attention, q)
        return ready.cross_out(mixed.transpose(1, 2).reshape(len(x), -1))


def _add(x: Tensor, y: Tensor, dropout: float) -> Tensor:
    return y.add_(x)
