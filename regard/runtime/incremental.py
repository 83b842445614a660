"""The decoder one token at a time: the numbers of the plain model, with a key-value cache.

An `IncrementalDecoder` holds a model's linear layers ready. A `DecodingBatch` is a batch that sentences enter and leave
at any step; the keys and values of a source are kept once for all of its beams.
"""

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.shortlist import Shortlist
from regard.model.layers import DecoderLayer, EncoderLayer
from regard.model.single_stack import DecoderOnly, SourceTargetDecoder
from regard.model.transformer import EncoderDecoder
from regard.runtime.attention import AttentionMask, decode_heads, prefill_heads, prepare_function
from regard.runtime.kv_cache import KVCache
from regard.runtime.linears import LinearFactory, PreparedLinears, dense_linear
from regard.runtime.output import FullOutput, OutputProjection, ShortlistOutput
from regard.runtime.padding_free import PaddingFreeForward
from regard.runtime.source_cache import NoSourceCache, SourceCache

COLUMNS_PER_RESERVE = 16  # tokens for which memory is reserved at a time


class IncrementalDecoder:
    """A model prepared for decoding; later changes of its weights have no effect."""

    def __init__(
        self,
        model: EncoderDecoder | DecoderOnly | SourceTargetDecoder,
        linear_factory: LinearFactory = dense_linear,
        shortlist: Shortlist | None = None,
    ):
        self.model, self._linear_factory, self.shortlist = model, linear_factory, shortlist
        self.linears = PreparedLinears(linear_factory)
        self.layers: list[DecoderLayer | EncoderLayer] = list(model.decoder.layers)  # type: ignore[arg-type]
        self.prepared_layers = [_PreparedLayer(layer, self.linears) for layer in self.layers]
        self.output = self.linears.linear(model.output)

    def new_batch(self, rows_per_sentence: int = 1) -> "DecodingBatch":
        """An empty batch, of this many rows (beams) per sentence."""
        return DecodingBatch(self, rows_per_sentence)

    @property
    def cache_width(self) -> int:
        """Numbers that the keys of one position take, over all layers."""
        return sum(layer.cache_width for layer in self.prepared_layers)

    @property
    def max_heads(self) -> int:
        """Heads of the self-attention that has most of them."""
        return max(layer.self_attn.heads for layer in self.layers)

    def with_shortlist(self, shortlist: Shortlist | None) -> "IncrementalDecoder":
        """The same prepared model with another shortlist, or with the whole vocabulary."""
        decoder = copy.copy(self)
        decoder.shortlist = shortlist
        return decoder

    def new_output(self) -> OutputProjection:
        """The output projection of a batch."""
        if self.shortlist is None:
            return FullOutput(self.output)
        return ShortlistOutput(self.model.output, self._linear_factory, self.shortlist)

    def new_source_cache(self) -> NoSourceCache:
        """For the sources of a batch; a language model has none."""
        if isinstance(self.model, EncoderDecoder):
            return SourceCache(PaddingFreeForward(self.model, self.linears))
        return NoSourceCache()


class _PreparedLayer:
    """A layer's linear layers, looked up once: for a single sentence, looking up takes as long as computing."""

    def __init__(self, layer: DecoderLayer | EncoderLayer, linears: PreparedLinears):
        self.layer = layer
        self.self_attn = layer.self_attn
        self.qkv_proj = linears.linear(layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj)
        self.out_proj = linears.linear(layer.self_attn.out_proj)
        self.prepare_queries = prepare_function(layer.self_attn.q_norm, layer.self_attn.positions)
        self.prepare_keys = prepare_function(layer.self_attn.k_norm, layer.self_attn.positions)
        self.cross = _PreparedCross(layer, linears) if isinstance(layer, DecoderLayer) else None
        self.feed_forward = linears.prepare_feed_forward(layer.feed_forward)

    @property
    def cache_width(self) -> int:
        """Of its self-attention or its cross-attention, whichever is wider."""
        heads = max(self.self_attn.heads, self.cross.attention.heads if self.cross else 0)
        return heads * self.self_attn.head_dim


class _PreparedCross:
    """The linear layers of a layer's cross-attention."""

    def __init__(self, layer: DecoderLayer, linears: PreparedLinears):
        self.attention, self.residual = layer.cross_attn, layer.cross_attn_residual
        self.q_proj = linears.linear(layer.cross_attn.q_proj)
        self.q_norm = layer.cross_attn.q_norm
        self.out_proj = linears.linear(layer.cross_attn.out_proj)


class _StepPositions(NamedTuple):
    """Positions of the n new tokens (R or 1, n) and of all keys (R or 1, t), and which keys each may attend to."""

    position_ids: Tensor
    key_position_ids: Tensor
    mask: AttentionMask


class DecodingBatch:
    """N sentences that are being decoded, `rows_per_sentence` rows each, R in all. All rows write the same column.

    A sentence that enters late has nothing in the columns before: its positions count from its own start.
    """

    def __init__(self, decoder: IncrementalDecoder, rows_per_sentence: int):
        self.decoder = decoder
        self.rows_per_sentence = rows_per_sentence
        self._like = decoder.model.output.weight
        self._kv_caches = [KVCache(layer.self_attn, self._like) for layer in decoder.layers]
        self._capacity = 0  # columns that are reserved
        self._length = 0  # columns that are filled
        self._start = torch.empty(0, dtype=torch.long, device=self._like.device)  # (R,) the first column of each row
        self._starts_at_zero = True  # whether all rows start at the first column
        self._source_cache = decoder.new_source_cache()
        self.output = decoder.new_output()

    def __len__(self) -> int:
        return len(self._start) // self.rows_per_sentence

    def admit(self, source: Tensor) -> None:
        """Add sentences with these sources (N, S) after the present ones; for a language model S is 0."""
        dropped_columns, old_count = self._trim(), len(self)
        self._source_cache.admit(source)
        self.output.admit(source)
        self._start = torch.cat(
            (self._start, self._start.new_full((len(source) * self.rows_per_sentence,), self._length))
        )
        self._starts_at_zero = not bool(self._start.any())
        self._reserve(dropped_columns)
        for kv_cache in self._kv_caches:
            kv_cache.clear(slice(old_count * self.rows_per_sentence, None), slice(self._length))

    def prefill(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Fill an empty batch of a decoder alone with prompts -> logits of their next tokens (N, V).

        Prompts end in the same column; a shorter one starts later. All rows of a sentence begin with its prompt.
        """
        assert not len(self)
        length, device = max(map(len, prompts)), self._start.device
        starts = [length - len(prompt) for prompt in prompts]
        rows = [[0] * start + list(prompt) for start, prompt in zip(starts, prompts, strict=True)]
        self._start = torch.tensor(starts, device=device)
        self._starts_at_zero = not any(starts)
        self._reserve(columns=length)
        x = self._forward(torch.tensor(rows, device=device), self._prompt_positions(length))
        self._repeat_rows()
        return self._project(x.view(len(rows), length, -1)[:, -1])

    def _repeat_rows(self) -> None:
        """Give every sentence as many rows as it is decoded with, from the one that it has."""
        if self.rows_per_sentence > 1:
            for kv_cache in self._kv_caches:
                kv_cache.repeat(len(self._start), self.rows_per_sentence)
            self._start = self._start.repeat_interleave(self.rows_per_sentence)

    def step(self, last_tokens: Tensor) -> Tensor:
        """The last token of each row (R,) -> logits of the next (R, V), or those of `output.tokens_at`."""
        if self._length == self._capacity:
            self._reserve()
        return self._project(self._forward(last_tokens[:, None], self._step_positions()))

    def _forward(self, tokens: Tensor, positions: _StepPositions) -> Tensor:
        """The states (R · n, D) of new tokens (R, n), whose keys and values are added to the cache."""
        x = self.decoder.model.decoder.embedding(tokens, positions.position_ids).flatten(0, 1)
        for i, (prepared, kv_cache) in enumerate(zip(self.decoder.prepared_layers, self._kv_caches, strict=True)):
            residual = prepared.layer.self_attn_residual
            x = residual.after(self._self_attn(prepared, kv_cache, residual.before(x), positions).add_(x))
            if prepared.cross is not None:
                residual = prepared.cross.residual
                x = residual.after(self._cross_attn(prepared.cross, i, residual.before(x)).add_(x))
            residual = prepared.layer.feed_forward_residual
            x = residual.after(prepared.feed_forward(residual.before(x)).add_(x))
        self._length += tokens.shape[1]
        return x

    def _project(self, x: Tensor) -> Tensor:
        """The logits (R, V) of states (R, D)."""
        return self.output(self.decoder.model.decoder.norm(x))

    def select(self, rows: Tensor) -> None:
        """Continue with these rows: those of a sentence stay together, as many as before."""
        self._start = self._start[rows]
        moved_rows = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
        for kv_cache in self._kv_caches:
            kv_cache.select(rows, moved_rows)
        sentences = rows[:: self.rows_per_sentence] // self.rows_per_sentence
        self._source_cache.select(sentences)
        self.output.select(sentences)

    def _step_positions(self) -> _StepPositions:
        columns = torch.arange(self._length + 1, device=self._start.device)[None]
        if self._starts_at_zero:
            return _StepPositions(columns[:, -1:], columns, AttentionMask())
        position_ids = columns - self._start[:, None]  # (R, t)
        attn_mask = (position_ids >= 0)[:, None, None]
        return _StepPositions(
            position_ids[:, -1:],
            position_ids.clamp(min=0),
            AttentionMask.of(attn_mask, self._like),
        )

    def _prompt_positions(self, length: int) -> _StepPositions:
        columns = torch.arange(length, device=self._start.device)
        attn_mask = columns <= columns[:, None]  # causal: (T, T)
        if self._starts_at_zero:
            return _StepPositions(columns[None], columns[None], AttentionMask(attn_mask))
        position_ids = columns - self._start[:, None]  # (R, T)
        attn_mask = attn_mask & (position_ids >= 0)[:, None, None]  # (R, 1, T, T); a row without any key is 0
        position_ids = position_ids.clamp(min=0)
        return _StepPositions(position_ids, position_ids, AttentionMask(attn_mask))

    def _trim(self) -> int:
        """Drop leading columns that no row uses; how many."""
        first = int(self._start.min()) if len(self) else self._length
        self._length, self._start = self._length - first, self._start - first
        return first

    def _reserve(self, dropped_columns: int = 0, columns: int = 0) -> None:
        """Reserve these columns and a few more, after the first ones were dropped."""
        self._capacity = self._length + columns + COLUMNS_PER_RESERVE
        for kv_cache in self._kv_caches:
            kv_cache.reserve(len(self._start), self._capacity, dropped_columns)

    def _self_attn(self, prepared: _PreparedLayer, kv_cache: KVCache, x: Tensor, positions: _StepPositions) -> Tensor:
        rows, attention = len(self._start), prepared.self_attn
        # (R · n, 3 · H · K) -> three times (R, H, n, K)
        q, k, v = prepared.qkv_proj(x).view(rows, len(x) // rows, 3, attention.heads, -1).transpose(1, 3).unbind(2)
        columns = slice(self._length, self._length + q.shape[2])
        kv_cache.put(slice(rows), columns, prepared.prepare_keys(k, positions.position_ids), v)
        attend = decode_heads if q.shape[2] == 1 else prefill_heads
        head_outputs = attend(
            attention,
            prepared.prepare_queries(q, positions.position_ids),
            kv_cache.view(rows, positions.key_position_ids),
            positions.mask,
            positions.position_ids,
        )
        return prepared.out_proj(head_outputs.transpose(1, 2).reshape(len(x), -1))

    def _cross_attn(self, cross: _PreparedCross, layer: int, x: Tensor) -> Tensor:
        # The rows of a sentence are queries of one sequence: (N, H, rows per sentence, K).
        shape = (-1, self.rows_per_sentence, cross.attention.heads, cross.attention.head_dim)
        q = cross.q_norm(cross.q_proj(x).view(shape).transpose(1, 2))
        head_outputs = self._source_cache.attend(layer, cross.attention, q)
        return cross.out_proj(head_outputs.transpose(1, 2).reshape(len(x), -1))
