"""The decoder one token at a time: the numbers of `EncoderDecoder.decode` with a `Cache`, in less time.

`Stepwise` holds a model's products ready. A `Walk` is a batch on its way that sentences leave and enter as they like;
what is known of a source is kept once for all of its beams.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from regard.kernels import to_additive_mask
from regard.model.layers import DecoderLayer
from regard.model.transformer import EncoderDecoder
from regard.runtime.kv_cache import KVCache
from regard.runtime.linears import LinearFactory, PreparedLinears, dense
from regard.runtime.padding_free import PaddingFree
from regard.runtime.source_cache import AttentionMask, SourceCache, decode_attention

COLUMNS_PER_RESERVE = 16  # tokens for which room is made at a time


class IncrementalDecoder:
    """A model made ready for decoding; later changes of its weights are not seen."""

    def __init__(self, model: EncoderDecoder, linear_factory: LinearFactory = dense):
        self.model = model
        self.linears = PreparedLinears(linear_factory)
        self.source_encoder = PaddingFree(model, self.linears)
        self.layers: list[DecoderLayer] = list(model.decoder.layers)  # type: ignore[arg-type]
        self.prepared_layers = [_PreparedLayer(layer, self.linears) for layer in self.layers]
        self.output = self.linears.linear(model.output)

    def new_batch(self, rows_per_sentence: int = 1) -> "DecodingBatch":
        """A batch that nobody has entered yet, of so many rows a sentence."""
        return DecodingBatch(self, rows_per_sentence)


class _PreparedLayer:
    """A decoder layer's products, at hand: one sentence takes little longer to compute than to look them up."""

    def __init__(self, layer: DecoderLayer, linears: PreparedLinears):
        self.layer = layer
        self.self_attn, self.cross_attn = layer.self_attn, layer.cross_attn
        self.qkv_proj = linears.linear(layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj)
        self.out_proj = linears.linear(layer.self_attn.out_proj)
        self.cross_q_proj = linears.linear(layer.cross_attn.q_proj)
        self.cross_out_proj = linears.linear(layer.cross_attn.out_proj)
        self.feed_forward = linears.prepare_feed_forward(layer.feed_forward)


class _StepPositions(NamedTuple):
    """Where new tokens stand (R or 1, 1), where their keys stand (R or 1, t), and which of these are the row's own."""

    position_ids: Tensor
    key_position_ids: Tensor
    mask: AttentionMask


class DecodingBatch:
    """N sentences in the middle of decoding, `width` rows each, R in all. All rows write into the same column.

    A sentence that enters late has nothing in the columns before: its places count from where it began.
    """

    def __init__(self, decoder: IncrementalDecoder, rows_per_sentence: int):
        self.decoder = decoder
        self.rows_per_sentence = rows_per_sentence
        self._like = decoder.model.output.weight
        self._kv_caches = [KVCache(layer.self_attn, self._like) for layer in decoder.layers]
        self._capacity = 0  # columns of it
        self._length = 0  # those that are filled
        self._start = torch.zeros(0, dtype=torch.long, device=self._like.device)  # (R,) the first column of each row
        self._starts_at_zero = True  # whether all rows began in the first column
        self._source_cache = SourceCache(decoder.source_encoder)

    def __len__(self) -> int:
        return len(self._start) // self.rows_per_sentence

    def admit(self, source: Tensor) -> None:
        """More sentences (N, S), below those that are there."""
        dropped_columns, old_count = self._trim(), len(self)
        self._source_cache.admit(source)
        self._start = torch.cat(
            (self._start, self._start.new_full((len(source) * self.rows_per_sentence,), self._length))
        )
        self._starts_at_zero = not bool(self._start.any())
        self._reserve(dropped_columns)
        for kv_cache in self._kv_caches:
            kv_cache.clear(slice(old_count * self.rows_per_sentence, None), slice(self._length))

    def step(self, last_tokens: Tensor) -> Tensor:
        """The last token of each row (R,) -> logits of the next (R, V)."""
        decoder = self.decoder.model.decoder
        positions = self._step_positions()
        x = decoder.embedding(last_tokens[:, None], positions.position_ids)[:, 0]  # (R, D)
        if self._length == self._capacity:
            self._reserve()
        for i, (prepared, kv_cache) in enumerate(zip(self.decoder.prepared_layers, self._kv_caches, strict=True)):
            layer = prepared.layer
            x = layer.self_attn_residual(
                x, lambda h, r=prepared, shelf=kv_cache: self._self_attn(r, shelf, h, positions), _add
            )
            x = layer.cross_attn_residual(x, lambda h, r=prepared, number=i: self._cross_attn(r, number, h), _add)
            x = layer.feed_forward_residual(x, prepared.feed_forward, _add)
        self._length += 1
        return self.decoder.output(decoder.norm(x))

    def select(self, rows: Tensor) -> None:
        """Go on with these rows: those of a sentence stay together, as many as before."""
        self._start = self._start[rows]
        moved_rows = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
        for kv_cache in self._kv_caches:
            kv_cache.select(rows, moved_rows)
        self._source_cache.select(rows[:: self.rows_per_sentence] // self.rows_per_sentence)

    def _step_positions(self) -> _StepPositions:
        columns = torch.arange(self._length + 1, device=self._start.device)[None]
        if self._starts_at_zero:
            return _StepPositions(columns[:, -1:], columns, AttentionMask())
        position_ids = columns - self._start[:, None]  # (R, t)
        attn_mask = (position_ids >= 0)[:, None, None]
        return _StepPositions(
            position_ids[:, -1:],
            position_ids.clamp(min=0),
            AttentionMask(attn_mask, to_additive_mask(attn_mask, self._like)),
        )

    def _trim(self) -> int:
        """Forget columns that no row has anything in; how many."""
        first = int(self._start.min()) if len(self) else self._length
        self._length, self._start = self._length - first, self._start - first
        return first

    def _reserve(self, dropped_columns: int = 0) -> None:
        """Room for a few more columns, where the first ones were forgotten."""
        self._capacity = self._length + COLUMNS_PER_RESERVE
        for kv_cache in self._kv_caches:
            kv_cache.reserve(len(self._start), self._capacity, dropped_columns)

    def _self_attn(self, prepared: _PreparedLayer, kv_cache: KVCache, x: Tensor, positions: _StepPositions) -> Tensor:
        rows, attention = len(x), prepared.self_attn
        q, k, v = prepared.qkv_proj(x).view(rows, 3, attention.heads, 1, -1).unbind(1)  # (R, H, 1, K) each
        rotate = attention.positions.rotate
        kv_cache.put(slice(rows), slice(self._length, self._length + 1), rotate(k, positions.position_ids), v)
        head_outputs = decode_attention(
            attention,
            rotate(q, positions.position_ids),
            kv_cache.view(rows, positions.key_position_ids),
            positions.mask,
            positions.position_ids,
        )
        return prepared.out_proj(head_outputs.flatten(1))

    def _cross_attn(self, prepared: _PreparedLayer, layer: int, x: Tensor) -> Tensor:
        attention = prepared.cross_attn
        # The rows of a sentence ask together, like tokens of one sequence: (N, H, width, K).
        q = (
            prepared.cross_q_proj(x)
            .view(-1, self.rows_per_sentence, attention.heads, attention.head_dim)
            .transpose(1, 2)
        )
        head_outputs = self._source_cache.attend(layer, attention, q)
        return prepared.cross_out_proj(head_outputs.transpose(1, 2).reshape(len(x), -1))


def _add(x: Tensor, y: Tensor, dropout: float) -> Tensor:
    return y.add_(x)
