"""The decoder one token at a time: the numbers of `EncoderDecoder.decode` with a `Cache`, in less time.

`Stepwise` holds a model's weights as decoding wants them: products that read the same input are one, and a product may
be of another kind (int8, say). A `Walk` is one batch on its way: keys and values stand in places that are made ahead,
and what is known of a source is kept once for all of its beams.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.model import masks
from regard.model.attention import KeyValues
from regard.model.layers import DecoderLayer, FeedForward
from regard.model.transformer import EncoderDecoder

PLACES = 16  # tokens for which room is made at a time

Product = Callable[[Tensor], Tensor]
"""Rows (R, D) -> rows (R, E)."""
Maker = Callable[[Tensor, Tensor | None], Product]
"""A weight (E, D) and a bias (E,) -> the product with them."""


def dense(weight: Tensor, bias: Tensor | None) -> Product:
    """The product as it is."""
    return lambda x: F.linear(x, weight, bias)


class Stepwise:
    """A model made ready for decoding; later changes of its weights are not seen."""

    def __init__(self, model: EncoderDecoder, make: Maker = dense):
        self.model = model
        self.layers = [_Layer(layer, make) for layer in model.decoder.layers]  # type: ignore[arg-type]
        self.output = make(model.output.weight, model.output.bias)

    def begin(self, source: Tensor) -> "Walk":
        """Sources (B, S), read and ready to be translated."""
        memory = self.model.encode(source)
        keep = None if bool(memory.keep.all()) else memory.keep
        return Walk(self, list(memory.layers), keep, len(source))


class _Layer:
    """A decoder layer's products."""

    def __init__(self, layer: DecoderLayer, make: Maker):
        self.layer = layer
        self.qkv = _together((layer.self.q, layer.self.k, layer.self.v), make)
        self.out = _together((layer.self.out,), make)
        self.cross_q = _together((layer.cross.q,), make)
        self.cross_out = _together((layer.cross.out,), make)
        self.feed = _feed(layer.feed, make)


class Walk:
    """A batch in the middle of decoding: N sentences, `width` rows each, R rows in all."""

    def __init__(self, stepwise: Stepwise, memory: list[KeyValues], keep: Tensor | None, count: int):
        self.stepwise = stepwise
        self.width = 1
        self.length = 0
        self._memory = memory
        self._keep = keep
        heads, head = memory[0].k.shape[1], memory[0].k.shape[3]
        empty = memory[0].k.new_empty(count, heads, 0, head)
        self._keys = [empty] * len(memory)  # (R, H, places, K) of each layer
        self._values = [empty] * len(memory)

    def step(self, last: Tensor) -> Tensor:
        """The last token of each row (R,) -> logits of the next (R, V)."""
        decoder = self.stepwise.model.decoder
        at = masks.along(last[:, None], self.length)  # (1, 1)
        seen_at = torch.arange(self.length + 1, device=last.device)[None]
        x = decoder.embedding(last[:, None], at)[:, 0]  # (R, D)
        self._make_room()
        for i, part in enumerate(self.stepwise.layers):
            x = part.layer.around_self(x, lambda h, i=i, part=part: self._self(i, part, h, at, seen_at), _add)
            x = part.layer.around_cross(x, lambda h, i=i, part=part: self._cross(i, part, h, at), _add)
            x = part.layer.around_feed(x, part.feed, _add)
        self.length += 1
        return self.stepwise.output(decoder.norm(x))

    def widen(self, width: int) -> None:
        """Every sentence in so many rows, one below the other."""
        rows = torch.arange(len(self._keys[0]), device=self._keys[0].device).repeat_interleave(width)
        self._keys, self._values = ([x[rows] for x in side] for side in (self._keys, self._values))
        self.width *= width

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        sentences = rows[:: self.width] // self.width
        self._keys, self._values = ([x.index_select(0, rows) for x in side] for side in (self._keys, self._values))
        if len(sentences) < len(self._memory[0].k) or not torch.equal(sentences, torch.arange(len(sentences))):
            self._memory = [
                KeyValues(k.index_select(0, sentences), v.index_select(0, sentences), at[:1])
                for k, v, at in self._memory
            ]
            self._keep = None if self._keep is None else self._keep[sentences]

    def _make_room(self) -> None:
        if self.length < self._keys[0].shape[2]:
            return
        more = self._keys[0].new_empty(*self._keys[0].shape[:2], PLACES, self._keys[0].shape[3])
        self._keys, self._values = ([torch.cat((x, more), dim=2) for x in side] for side in (self._keys, self._values))

    def _self(self, i: int, part: _Layer, x: Tensor, at: Tensor, seen_at: Tensor) -> Tensor:
        attention = part.layer.self
        q, k, v = part.qkv(x).view(len(x), 3, attention.heads, 1, -1).unbind(1)  # (R, H, 1, K) each
        self._keys[i][:, :, self.length] = attention.positions.turn(k, at)[:, :, 0]
        self._values[i][:, :, self.length] = v[:, :, 0]
        past = slice(0, self.length + 1)
        seen = KeyValues(self._keys[i][:, :, past], self._values[i][:, :, past], seen_at)
        return part.out(attention.mix(attention.positions.turn(q, at), seen, None, at).flatten(1))

    def _cross(self, i: int, part: _Layer, x: Tensor, at: Tensor) -> Tensor:
        attention, seen = part.layer.cross, self._memory[i]
        # The rows of a sentence ask together, like tokens of one sequence: (N, H, width, K).
        q = part.cross_q(x).view(-1, self.width, attention.heads, x.shape[1] // attention.heads).transpose(1, 2)
        mixed = attention.mix(q, seen, self._keep, at.expand(1, self.width))
        return part.cross_out(mixed.transpose(1, 2).reshape(x.shape))


def _add(x: Tensor, y: Tensor, dropout: float) -> Tensor:
    return x + y


def _together(linears: Sequence[nn.Linear], make: Maker) -> Product:
    weight = torch.cat([linear.weight.detach() for linear in linears])
    biased = linears[0].bias is not None
    return make(weight, torch.cat([linear.bias.detach() for linear in linears]) if biased else None)


def _feed(feed: nn.Module, make: Maker) -> Product:
    if not isinstance(feed, FeedForward):
        return feed
    into, out = _together((feed.into,), make), _together((feed.out,), make)
    return lambda x: out(feed.activation(into(x)))
