"""The forward pass on real tokens alone: the same weights and the same numbers as the plain model, in less time.

`EncoderDecoder` says what is computed; `Packed` does it as a CPU likes it. Padding is left out of everything but
attention, products that read the same input are one product, and the operations of `kernels` do the rest.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.kernels import Layout, Noise, Silence, attend_kept, gather, hide, spread
from regard.model import masks
from regard.model.attention import Attention, KeyValues, score
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.transformer import Embedding, EncoderDecoder
from regard.runtime.linears import Live, Products


@dataclass(frozen=True)
class Side:
    """One side of a batch: where its tokens stand, and which keys they may look at."""

    layout: Layout
    keep: Tensor | None  # (B, 1, 1 or T, T)
    hidden: Tensor | None  # the same as numbers to add
    at: Tensor  # (1, T)


class Packed:
    """A model seen as a function from padded ids (B, S), (B, T) to the states (N, D) of the target's real tokens."""

    def __init__(self, model: EncoderDecoder, products: Products | None = None):
        self.model = model
        self.products = products or Live()

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return _Pass(self.model, self.products).states(source, target)

    def read(self, source: Tensor) -> list[KeyValues]:
        """What every decoder layer looks at of source (B, S)."""
        run = _Pass(self.model, self.products)
        return run.encode(source, run.side(source, future=True))

    def watched(self, source: Tensor, target: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """The same, and the scores (B, T, S) of the first head of a layer's cross-attention."""
        run = _Pass(self.model, self.products, watched=layer)
        states = run.states(source, target)
        assert run.scores is not None
        return states, run.scores


class _Pass:
    """One forward pass, with the dropout that belongs to it."""

    def __init__(self, model: EncoderDecoder, products: Products, watched: int | None = None):
        self.model = model
        self.products = products
        self.noise = Noise() if model.training else Silence()
        self.watched = None if watched is None else model.decoder.layers[watched]
        self.scores: Tensor | None = None

    def states(self, source: Tensor, target: Tensor) -> Tensor:
        from_side, to_side = self.side(source, future=True), self.side(target, future=False)
        memory = self.encode(source, from_side)
        return self.decode(target, to_side, memory, from_side)

    def encode(self, ids: Tensor, side: Side) -> list[KeyValues]:
        """Every decoder layer's keys and values of the source."""
        encoder, decoder = self.model.encoder, self.model.decoder
        x = self._embed(encoder.embedding, ids, side)
        for layer in encoder.layers:
            x = self._encoder_layer(layer, x, side)  # type: ignore[arg-type]
        crosses: list[Attention] = [layer.cross for layer in decoder.layers]  # type: ignore[misc]
        together = self.products(encoder.norm(x), tuple(map for cross in crosses for map in (cross.k, cross.v)))
        apart = together.split([2 * cross.heads * cross.width for cross in crosses], dim=1)
        kv = (spread(own, side.layout, 2, cross.heads) for own, cross in zip(apart, crosses, strict=True))
        turns = (cross.positions.turn for cross in crosses)
        return [KeyValues(turn(k, side.at), v, side.at) for turn, (k, v) in zip(turns, kv, strict=True)]

    def decode(self, ids: Tensor, side: Side, memory: list[KeyValues], source: Side) -> Tensor:
        decoder = self.model.decoder
        x = self._embed(decoder.embedding, ids, side)
        for layer, seen in zip(decoder.layers, memory, strict=True):
            x = self._decoder_layer(layer, x, side, seen, source)  # type: ignore[arg-type]
        return decoder.norm(x)

    def side(self, ids: Tensor, future: bool) -> Side:
        real = ids != self.model.pad
        layout = Layout(real)
        keep = None if layout.full else real[:, None, None, :]
        if not future:
            past = masks.causal(ids.shape[1], ids.shape[1], ids.device)[None, None]
            keep = past if keep is None else keep & past
        hidden = None if keep is None else hide(keep, self.model.output.weight)
        return Side(layout, keep, hidden, masks.along(ids))

    def _embed(self, embedding: Embedding, ids: Tensor, side: Side) -> Tensor:
        words = embedding.show(side.layout.pack(ids))  # (N, D)
        at = side.layout.pack(embedding.positions.shift(side.at, len(ids)).expand_as(ids))  # (N,)
        return self.noise.drop(embedding.mark(words, at), embedding.dropout)

    def _encoder_layer(self, layer: EncoderLayer, x: Tensor, side: Side) -> Tensor:
        x = layer.around_self(x, lambda h: self._self(layer.self, h, side), self.noise.add)
        return layer.around_feed(x, lambda h: self.products.feed(layer.feed, h), self.noise.add)

    def _decoder_layer(self, layer: DecoderLayer, x: Tensor, side: Side, seen: KeyValues, source: Side) -> Tensor:
        x = layer.around_self(x, lambda h: self._self(layer.self, h, side), self.noise.add)
        x = layer.around_cross(x, lambda h: self._cross(layer.cross, h, side, seen, source), self.noise.add)
        return layer.around_feed(x, lambda h: self.products.feed(layer.feed, h), self.noise.add)

    def _self(self, attention: Attention, x: Tensor, side: Side) -> Tensor:
        together = self.products(x, (attention.q, attention.k, attention.v))
        q, k, v = spread(together, side.layout, 3, attention.heads)
        turn = attention.positions.turn
        mixed = self._mix(attention, turn(q, side.at), KeyValues(turn(k, side.at), v, side.at), side, side)
        return self.products(gather(mixed, side.layout), (attention.out,))

    def _cross(self, attention: Attention, x: Tensor, side: Side, seen: KeyValues, source: Side) -> Tensor:
        (q,) = spread(self.products(x, (attention.q,)), side.layout, 1, attention.heads)
        if self.watched is not None and attention is self.watched.cross:
            self.scores = score(q[:, 0], seen.k[:, 0])
        mixed = self._mix(attention, attention.positions.turn(q, side.at), seen, side, source)
        return self.products(gather(mixed, side.layout), (attention.out,))

    def _mix(self, attention: Attention, q: Tensor, seen: KeyValues, side: Side, keys: Side) -> Tensor:
        kept = torch.is_grad_enabled()  # weights are worth keeping for the way back alone
        if not (kept and attention.fusable) or (attention.training and attention.dropout):
            return attention.mix(q, seen, keys.keep, side.at)
        bias = attention.positions.bias(q, side.at, seen.at)
        return attention.mixed(attend_kept(q, seen.k, seen.v, keys.hidden, bias))
