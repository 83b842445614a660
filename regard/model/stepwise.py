"""The decoder one token at a time: the numbers of `EncoderDecoder.decode` with a `Cache`, in less time.

`Stepwise` holds a model's products ready. A `Walk` is a batch on its way that sentences leave and enter as they like;
what is known of a source is kept once for all of its beams.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.kernels import attend_kept, hide
from regard.model.attention import Attention, KeyValues
from regard.model.layers import DecoderLayer
from regard.model.packed import Packed
from regard.model.products import Maker, Prepared, dense
from regard.model.shelf import Shelf
from regard.model.transformer import EncoderDecoder

PLACES = 16  # tokens for which room is made at a time
READ = 1024  # tokens of sources that are read at a time: what is computed of them stays in the cache
FEW = 8  # sentences for which one call of the fused kernel costs less than the four of plain products


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


class _Mask(NamedTuple):
    """Which keys may be looked at (R, 1, 1, t), and the same as numbers to add to scores; None: all."""

    keep: Tensor | None = None
    hidden: Tensor | None = None

    @staticmethod
    def of(keep: Tensor, like: Tensor) -> "_Mask":
        return _Mask() if bool(keep.all()) else _Mask(keep, hide(keep, like))


class _Places(NamedTuple):
    """Where new tokens stand (R or 1, 1), where their keys stand (R or 1, t), and which of these are the row's own."""

    at: Tensor
    seen: Tensor
    mask: _Mask


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
        self._memory = [Shelf(layer.cross, self._like) for layer in stepwise.layers]
        self._real = torch.zeros(0, 1, 1, 0, dtype=torch.bool, device=self._like.device)  # (N, 1, 1, S) its keys
        self._mask = _Mask()  # the same
        self._along = self._start[None]  # (1, S) where they stand

    def __len__(self) -> int:
        return len(self._start) // self.width

    def enter(self, source: Tensor) -> None:
        """More sentences (N, S), below those that are there."""
        forgotten = self._trim()
        before, (count, columns) = len(self), source.shape
        wide = max(columns, self._real.shape[3])
        for shelf in self._memory:
            shelf.make_room(before + count, wide)
            shelf.clear(slice(before), slice(self._real.shape[3], wide))
        each = max(1, READ // columns) if source.device.type == "cpu" else count
        for start in range(0, count, each):
            self._read(source[start : start + each], before + start, wide)
        self._know(_below(self._real, source != self.stepwise.model.pad))
        self._start = torch.cat((self._start, self._start.new_full((count * self.width,), self._length)))
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
        for ready, own, memory in zip(self.stepwise.ready, self._own, self._memory, strict=True):
            layer = ready.layer
            x = layer.around_self(x, lambda h, r=ready, shelf=own: self._self(r, shelf, h, places), _add)
            x = layer.around_cross(x, lambda h, r=ready, shelf=memory: self._cross(r, shelf, h, places), _add)
            x = layer.around_feed(x, ready.feed, _add)
        self._length += 1
        return self.stepwise.output(decoder.norm(x))

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        self._start = self._start[rows]
        _select(self._own, rows)
        sentences = rows[:: self.width] // self.width
        if _select(self._memory, sentences) or len(sentences) < len(self._real):
            self._know(self._real[sentences])

    def _read(self, source: Tensor, first: int, wide: int) -> None:
        """Keep what is to know of sentences (n, S) in the memory's rows from `first` on."""
        memory = self.stepwise.reader.read(source)
        rows, columns = slice(first, first + len(source)), source.shape[1]
        for shelf, (k, v, _) in zip(self._memory, memory, strict=True):
            shelf.put(rows, slice(columns), k, v)
            shelf.clear(rows, slice(columns, wide))

    def _places(self) -> _Places:
        columns = torch.arange(self._length + 1, device=self._start.device)[None]
        if self._even:
            return _Places(columns[:, -1:], columns, _Mask())
        seen = columns - self._start[:, None]  # (R, t)
        keep = (seen >= 0)[:, None, None]
        return _Places(seen[:, -1:], seen.clamp(min=0), _Mask(keep, hide(keep, self._like)))

    def _know(self, real: Tensor) -> None:
        """Which keys of the memory are real."""
        self._real, self._mask = real, _Mask.of(real, self._like)
        self._along = torch.arange(real.shape[3], device=real.device)[None]

    def _trim(self) -> int:
        """Forget columns that no row has anything in (how many?), and what of the sources is padding for all."""
        first = int(self._start.min()) if len(self) else self._length
        self._length, self._start = self._length - first, self._start - first
        longest = int(self._real.sum(dim=-1).max()) if len(self) else 0
        self._real = self._real[..., :longest]
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
        mixed = _mix(attention, turn(q, places.at), shelf.seen(rows, places.seen), places.mask, places.at)
        return ready.out(mixed.flatten(1))

    def _cross(self, ready: _Ready, shelf: Shelf, x: Tensor, places: _Places) -> Tensor:
        attention = ready.cross
        # The rows of a sentence ask together, like tokens of one sequence: (N, H, width, K).
        q = ready.cross_q(x).view(-1, self.width, attention.heads, attention.width).transpose(1, 2)
        at = places.at[:: self.width].expand(-1, self.width)
        mixed = _mix(attention, q, shelf.seen(len(self), self._along), self._mask, at)
        return ready.cross_out(mixed.transpose(1, 2).reshape(len(x), -1))


def _mix(attention: Attention, q: Tensor, seen: KeyValues, mask: _Mask, at: Tensor) -> Tensor:
    """`Attention.mix`; on a CPU many rows do without the fused kernel, whose blocks are made for many queries each."""
    if len(q) < FEW or q.device.type != "cpu" or not attention.fusable:
        return attention.mix(q, seen, mask.keep, at)
    return attention.mixed(attend_kept(q, seen.k, seen.v, mask.hidden, attention.positions.bias(q, at, seen.at)))


def _select(shelves: list[Shelf], rows: Tensor) -> bool:
    """These rows of every shelf; whether any had to be moved."""
    moved = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
    for shelf in shelves:
        shelf.select(rows, moved)
    return len(moved) > 0


def _add(x: Tensor, y: Tensor, dropout: float) -> Tensor:
    return y.add_(x)


def _below(upper: Tensor, lower: Tensor) -> Tensor:
    """One mask (N, 1, 1, S) and below it another (n, s), as wide as the wider."""
    wide = max(upper.shape[3], lower.shape[1])
    return torch.cat([F.pad(real, (0, wide - real.shape[-1])) for real in (upper, lower[:, None, None])])
