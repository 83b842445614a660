"""The forward pass without padding: the same weights and the same numbers as the plain model, in less time.

`EncoderDecoder` defines what is computed. `PaddingFreeForward` leaves padding out of everything but attention, computes
linear layers with the same input as one product, and uses the operations of `kernels`. `PaddingFreeStack` does the same
for an encoder or a decoder that stands alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config import Head
from regard.kernels import FastDropout, NoDropout, PaddingLayout, pack_heads, unpack_heads
from regard.model import masks
from regard.model.attention import Attention, KeyValues, score
from regard.model.layers import DecoderLayer, EncoderLayer, Residual, Sublayer
from regard.model.single_stack import (
    DecoderOnly,
    EncoderOnly,
    SourceTargetDecoder,
    TextEncoderDecoder,
    join_sequences,
)
from regard.model.taps import attention_path
from regard.model.transformer import EncoderDecoder, TokenEmbedding, TransformerStack
from regard.runtime.attention import AttentionMask, attend_heads
from regard.runtime.linears import Linears, LiveLinears

SomeModel = EncoderDecoder | EncoderOnly | DecoderOnly | SourceTargetDecoder | TextEncoderDecoder


@dataclass(frozen=True)
class BatchSide:
    """One side of a batch: where its tokens are, and which keys they may attend to."""

    layout: PaddingLayout
    mask: AttentionMask  # (B, 1, 1 or T, T)
    position_ids: Tensor  # (1, T)


class PaddingFreeForward:
    """A model as a function from padded ids (B, S), (B, T) to the states (N, D) of the target's tokens."""

    def __init__(self, model: EncoderDecoder, linears: Linears | None = None):
        self.model = model
        self.linears = linears or LiveLinears()

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        return _ForwardPass(self.model, self.linears).states(source, target)

    def encode(self, source: Tensor) -> list[KeyValues]:
        """The keys and values of source (B, S) for the cross-attention of every decoder layer."""
        forward_pass = _ForwardPass(self.model, self.linears)
        return forward_pass.encode(source, forward_pass.make_side(source, bidirectional=True))

    def forward_with_scores(self, source: Tensor, target: Tensor, heads: Sequence[Head]) -> tuple[Tensor, list[Tensor]]:
        """The states, and the scores (B, T, S) of these heads of cross-attention."""
        forward_pass = _ForwardPass(self.model, self.linears, heads)
        states = forward_pass.states(source, target)
        return states, [forward_pass.scores[head] for head in heads]


class PackedStates(NamedTuple):
    """The states of the N tokens of a batch, row after row, and where in it they are."""

    states: Tensor  # (N, D)
    layout: PaddingLayout


class PaddingFreeStack:
    """A model of one stack as a function from padded ids (B, T) to the states (N, D) of its tokens."""

    def __init__(self, model: EncoderOnly | DecoderOnly | SourceTargetDecoder, linears: Linears | None = None):
        self.model = model
        self.linears = linears or LiveLinears()

    def __call__(self, ids: Tensor, token_type_ids: Tensor | None = None) -> PackedStates:
        forward_pass = _StackPass(self.model, self.linears)
        side = forward_pass.make_side(ids, bidirectional=not self.model.causal)
        return PackedStates(forward_pass.stack_states(self.model.stack, ids, side, token_type_ids), side.layout)


class PaddingFreeText:
    """An encoder and a decoder that read the same text, with the interface of `PaddingFreeStack`."""

    def __init__(self, model: TextEncoderDecoder, linears: Linears | None = None):
        self.model = model
        self.linears = linears or LiveLinears()

    def __call__(self, ids: Tensor, token_type_ids: Tensor | None = None) -> PackedStates:
        forward_pass = _ForwardPass(self.model, self.linears)
        source_side = forward_pass.make_side(ids, bidirectional=True)
        target_side = forward_pass.make_side(ids, bidirectional=False)
        source_kv = forward_pass.encode(ids, source_side)
        return PackedStates(forward_pass.decode(ids, target_side, source_kv, source_side), target_side.layout)


class PaddingFreeSequence:
    """A decoder that reads source and target as one sequence, with the interface of `PaddingFreeForward`."""

    def __init__(self, model: SourceTargetDecoder, linears: Linears | None = None):
        self.pad = model.pad
        self.stack = PaddingFreeStack(model, linears)

    def __call__(self, source: Tensor, target: Tensor) -> Tensor:
        ids, is_target = join_sequences(source, target, self.pad)
        states, layout = self.stack(ids)
        return states[layout.pack(is_target)]


class _StackPass:
    """One forward pass through stacks without a source, with the dropout that belongs to it."""

    def __init__(self, model: SomeModel, linears: Linears):
        self.model = model
        self.linears = linears
        self.dropout = FastDropout() if model.training else NoDropout()

    def stack_states(
        self, stack: TransformerStack, ids: Tensor, side: BatchSide, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """The states (N, D) of the tokens of a stack without a source."""
        x = self._embed(stack.embedding, ids, side, token_type_ids)
        for layer in stack.layers:
            x = self._encoder_layer(layer, x, side)  # type: ignore[arg-type]
        return stack.norm(x)

    def make_side(self, ids: Tensor, bidirectional: bool) -> BatchSide:
        attention_mask = ids != self.model.pad
        layout = PaddingLayout(attention_mask)
        attn_mask = None if layout.full else attention_mask[:, None, None, :]
        if not bidirectional:
            causal_mask = masks.causal_mask(ids.shape[1], ids.device)[None, None]
            attn_mask = causal_mask if attn_mask is None else attn_mask & causal_mask
        mask = AttentionMask() if attn_mask is None else AttentionMask.of(attn_mask, self.model.output.weight)
        return BatchSide(layout, mask, masks.position_ids_of(ids))

    def _embed(
        self, embedding: TokenEmbedding, ids: Tensor, side: BatchSide, token_type_ids: Tensor | None = None
    ) -> Tensor:
        embeddings = embedding.embed_tokens(side.layout.pack(ids))  # (N, D)
        position_ids = side.layout.pack(
            embedding.positions.shift_positions(side.position_ids, len(ids)).expand_as(ids)
        )  # (N,)
        types = None if token_type_ids is None else side.layout.pack(token_type_ids)  # (N,)
        return self.dropout.drop(embedding.add_positions(embeddings, position_ids, types), embedding.dropout)

    def _encoder_layer(self, layer: EncoderLayer, x: Tensor, side: BatchSide) -> Tensor:
        x = self._residual(layer.self_attn_residual, x, lambda h: self._self_attn(layer.self_attn, h, side))
        return self._residual(layer.feed_forward_residual, x, lambda h: self._feed_forward(layer, h))

    def _residual(self, residual: Residual, x: Tensor, sublayer: Sublayer) -> Tensor:
        return residual.after(self.dropout.add(x, sublayer(residual.before(x)), residual.dropout))

    def _feed_forward(self, layer: EncoderLayer | DecoderLayer, x: Tensor) -> Tensor:
        return self.linears.feed_forward(layer.feed_forward, x)

    def _self_attn(self, attention: Attention, x: Tensor, side: BatchSide) -> Tensor:
        qkv = self.linears(x, (attention.q_proj, attention.k_proj, attention.v_proj))
        q, k, v = unpack_heads(qkv, side.layout, 3, attention.heads)
        rotate = attention.positions.rotate
        kv = KeyValues(rotate(attention.k_norm(k), side.position_ids), v, side.position_ids)
        return self._attend(attention, rotate(attention.q_norm(q), side.position_ids), kv, side, side)

    def _attend(self, attention: Attention, q: Tensor, kv: KeyValues, side: BatchSide, key_side: BatchSide) -> Tensor:
        save_weights = torch.is_grad_enabled()  # only the backward pass needs them
        head_outputs = attend_heads(attention, q, kv, key_side.mask, side.position_ids, save_weights)
        return self.linears(pack_heads(head_outputs, side.layout), (attention.out_proj,))


class _ForwardPass(_StackPass):
    """One forward pass of an encoder-decoder."""

    model: EncoderDecoder | TextEncoderDecoder

    def __init__(self, model: EncoderDecoder | TextEncoderDecoder, linears: Linears, scored_heads: Sequence[Head] = ()):
        super().__init__(model, linears)
        self.scored_heads = [(find_attention(model, head), head) for head in scored_heads]
        self.scores: dict[Head, Tensor] = {}

    def states(self, source: Tensor, target: Tensor) -> Tensor:
        source_side = self.make_side(source, bidirectional=True)
        target_side = self.make_side(target, bidirectional=False)
        source_kv = self.encode(source, source_side)
        return self.decode(target, target_side, source_kv, source_side)

    def encode(self, ids: Tensor, side: BatchSide) -> list[KeyValues]:
        """The keys and values of the source for every decoder layer."""
        encoder, decoder = self.model.encoder, self.model.decoder
        cross_attns: list[Attention] = [layer.cross_attn for layer in decoder.layers]  # type: ignore[misc]
        all_kv = self.linears(
            self.stack_states(encoder, ids, side),
            tuple(linear for cross in cross_attns for linear in (cross.k_proj, cross.v_proj)),
        )
        kv_by_layer = all_kv.split([2 * cross.heads * cross.head_dim for cross in cross_attns], dim=1)
        kv = (
            unpack_heads(layer_kv, side.layout, 2, cross.heads)
            for layer_kv, cross in zip(kv_by_layer, cross_attns, strict=True)
        )
        return [
            KeyValues(cross.positions.rotate(cross.k_norm(k), side.position_ids), v, side.position_ids)
            for cross, (k, v) in zip(cross_attns, kv, strict=True)
        ]

    def decode(self, ids: Tensor, side: BatchSide, source_kv: list[KeyValues], source_side: BatchSide) -> Tensor:
        decoder = self.model.decoder
        x = self._embed(decoder.embedding, ids, side)
        for layer, kv in zip(decoder.layers, source_kv, strict=True):
            x = self._decoder_layer(layer, x, side, kv, source_side)  # type: ignore[arg-type]
        return decoder.norm(x)

    def _decoder_layer(
        self, layer: DecoderLayer, x: Tensor, side: BatchSide, kv: KeyValues, source_side: BatchSide
    ) -> Tensor:
        x = self._residual(layer.self_attn_residual, x, lambda h: self._self_attn(layer.self_attn, h, side))
        x = self._residual(
            layer.cross_attn_residual, x, lambda h: self._cross_attn(layer.cross_attn, h, side, kv, source_side)
        )
        return self._residual(layer.feed_forward_residual, x, lambda h: self._feed_forward(layer, h))

    def _cross_attn(
        self, attention: Attention, x: Tensor, side: BatchSide, kv: KeyValues, source_side: BatchSide
    ) -> Tensor:
        (q,) = unpack_heads(self.linears(x, (attention.q_proj,)), side.layout, 1, attention.heads)
        q = attention.q_norm(q)
        for scored_attention, head in self.scored_heads:
            if scored_attention is attention:
                index = attention.head_ids.index(head.number)
                self.scores[head] = score(q[:, index], kv.k[:, index])
        return self._attend(attention, attention.positions.rotate(q, side.position_ids), kv, side, source_side)


def find_attention(model: SomeModel, head: Head) -> Attention:
    """The attention that a head is part of."""
    attention = model.get_submodule(attention_path(head.attention_name))
    assert isinstance(attention, Attention)
    return attention
