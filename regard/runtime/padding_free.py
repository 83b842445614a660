"""The forward pass on real tokens alone: the same weights and the same numbers as the plain model, in less time.

`EncoderDecoder` says what is computed; `Packed` does it as a CPU likes it. Padding is left out of everything but
attention, products that read the same input are one product, and the operations of `kernels` do the rest.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.kernels import (
    FastDropout,
    NoDropout,
    PaddingLayout,
    attention_saved_weights,
    pack_heads,
    to_additive_mask,
    unpack_heads,
)
from regard.model import masks
from regard.model.attention import Attention, KeyValues, score
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.transformer import EncoderDecoder, TokenEmbedding
from regard.runtime.linears import Linears, LiveLinears


@dataclass(frozen=True)
class BatchSide:
    """One side of a batch: where its tokens stand, and which keys they may look at."""

    layout: PaddingLayout
    attn_mask: Tensor | None  # (B, 1, 1 or T, T)
    additive_mask: Tensor | None  # the same as numbers to add
    position_ids: Tensor  # (1, T)


class PaddingFree:
    """A model seen as a function from padded ids (B, S), (B, T) to the states (N, D) of the target's real tokens."""

    def __init__(self, model: EncoderDecoder, linears: Linears | None = None):
        self.model = model
        self.linears = linears or LiveLinears()

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return _ForwardPass(self.model, self.linears).states(source, target)

    def encode(self, source: Tensor) -> list[KeyValues]:
        """What every decoder layer looks at of source (B, S)."""
        forward_pass = _ForwardPass(self.model, self.linears)
        return forward_pass.encode(source, forward_pass.make_side(source, bidirectional=True))

    def forward_with_scores(self, source: Tensor, target: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        """The same, and the scores (B, T, S) of the first head of a layer's cross-attention."""
        forward_pass = _ForwardPass(self.model, self.linears, scored_layer=layer)
        states = forward_pass.states(source, target)
        assert forward_pass.scores is not None
        return states, forward_pass.scores


class _ForwardPass:
    """One forward pass, with the dropout that belongs to it."""

    def __init__(self, model: EncoderDecoder, linears: Linears, scored_layer: int | None = None):
        self.model = model
        self.linears = linears
        self.dropout = FastDropout() if model.training else NoDropout()
        self.scored_layer = None if scored_layer is None else model.decoder.layers[scored_layer]
        self.scores: Tensor | None = None

    def states(self, source: Tensor, target: Tensor) -> Tensor:
        source_side, target_side = (
            self.make_side(source, bidirectional=True),
            self.make_side(target, bidirectional=False),
        )
        memory = self.encode(source, source_side)
        return self.decode(target, target_side, memory, source_side)

    def encode(self, ids: Tensor, side: BatchSide) -> list[KeyValues]:
        """Every decoder layer's keys and values of the source."""
        encoder, decoder = self.model.encoder, self.model.decoder
        x = self._embed(encoder.embedding, ids, side)
        for layer in encoder.layers:
            x = self._encoder_layer(layer, x, side)  # type: ignore[arg-type]
        cross_attns: list[Attention] = [layer.cross for layer in decoder.layers]  # type: ignore[misc]
        all_kv = self.linears(
            encoder.norm(x), tuple(linear for cross in cross_attns for linear in (cross.k_proj, cross.v_proj))
        )
        kv_by_layer = all_kv.split([2 * cross.heads * cross.head_dim for cross in cross_attns], dim=1)
        kv = (
            unpack_heads(layer_kv, side.layout, 2, cross.heads)
            for layer_kv, cross in zip(kv_by_layer, cross_attns, strict=True)
        )
        rotations = (cross.positions.rotate for cross in cross_attns)
        return [
            KeyValues(rotate(k, side.position_ids), v, side.position_ids)
            for rotate, (k, v) in zip(rotations, kv, strict=True)
        ]

    def decode(self, ids: Tensor, side: BatchSide, memory: list[KeyValues], source_side: BatchSide) -> Tensor:
        decoder = self.model.decoder
        x = self._embed(decoder.embedding, ids, side)
        for layer, kv in zip(decoder.layers, memory, strict=True):
            x = self._decoder_layer(layer, x, side, kv, source_side)  # type: ignore[arg-type]
        return decoder.norm(x)

    def make_side(self, ids: Tensor, bidirectional: bool) -> BatchSide:
        attention_mask = ids != self.model.pad
        layout = PaddingLayout(attention_mask)
        attn_mask = None if layout.full else attention_mask[:, None, None, :]
        if not bidirectional:
            causal_mask = masks.causal_mask(ids.shape[1], ids.shape[1], ids.device)[None, None]
            attn_mask = causal_mask if attn_mask is None else attn_mask & causal_mask
        additive_mask = None if attn_mask is None else to_additive_mask(attn_mask, self.model.output.weight)
        return BatchSide(layout, attn_mask, additive_mask, masks.position_ids_of(ids))

    def _embed(self, embedding: TokenEmbedding, ids: Tensor, side: BatchSide) -> Tensor:
        embeddings = embedding.embed_tokens(side.layout.pack(ids))  # (N, D)
        position_ids = side.layout.pack(
            embedding.positions.shift_positions(side.position_ids, len(ids)).expand_as(ids)
        )  # (N,)
        return self.dropout.drop(embedding.add_positions(embeddings, position_ids), embedding.dropout)

    def _encoder_layer(self, layer: EncoderLayer, x: Tensor, side: BatchSide) -> Tensor:
        x = layer.self_attn_residual(x, lambda h: self._self_attn(layer.self_attn, h, side), self.dropout.add)
        return layer.feed_forward_residual(
            x, lambda h: self.linears.feed_forward(layer.feed_forward, h), self.dropout.add
        )

    def _decoder_layer(
        self, layer: DecoderLayer, x: Tensor, side: BatchSide, kv: KeyValues, source_side: BatchSide
    ) -> Tensor:
        x = layer.self_attn_residual(x, lambda h: self._self_attn(layer.self_attn, h, side), self.dropout.add)
        x = layer.cross_attn_residual(
            x, lambda h: self._cross_attn(layer.cross_attn, h, side, kv, source_side), self.dropout.add
        )
        return layer.feed_forward_residual(
            x, lambda h: self.linears.feed_forward(layer.feed_forward, h), self.dropout.add
        )

    def _self_attn(self, attention: Attention, x: Tensor, side: BatchSide) -> Tensor:
        qkv = self.linears(x, (attention.q_proj, attention.k_proj, attention.v_proj))
        q, k, v = unpack_heads(qkv, side.layout, 3, attention.heads)
        rotate = attention.positions.rotate
        head_outputs = self._attend(
            attention,
            rotate(q, side.position_ids),
            KeyValues(rotate(k, side.position_ids), v, side.position_ids),
            side,
            side,
        )
        return self.linears(pack_heads(head_outputs, side.layout), (attention.out_proj,))

    def _cross_attn(
        self, attention: Attention, x: Tensor, side: BatchSide, kv: KeyValues, source_side: BatchSide
    ) -> Tensor:
        (q,) = unpack_heads(self.linears(x, (attention.q_proj,)), side.layout, 1, attention.heads)
        if self.scored_layer is not None and attention is self.scored_layer.cross:
            self.scores = score(q[:, 0], kv.k[:, 0])
        head_outputs = self._attend(attention, attention.positions.rotate(q, side.position_ids), kv, side, source_side)
        return self.linears(pack_heads(head_outputs, side.layout), (attention.out_proj,))

    def _attend(self, attention: Attention, q: Tensor, kv: KeyValues, side: BatchSide, key_side: BatchSide) -> Tensor:
        grad_enabled = torch.is_grad_enabled()  # weights are worth keeping for the way back alone
        if not (grad_enabled and attention.fusable) or (attention.training and attention.dropout):
            return attention.attend(q, kv, key_side.attn_mask, side.position_ids)
        bias = attention.positions.bias(q, side.position_ids, kv.position_ids)
        return attention.head_outputs(attention_saved_weights(q, kv.k, kv.v, key_side.additive_mask, bias))
