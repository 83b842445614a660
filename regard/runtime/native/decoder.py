"""A model in native code: its weights handed over, and searches in it."""

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.decode import BeamSearch, GreedySearch, Hypothesis, Limits, Search
from regard.decode.limits import MAX_CYCLE_LENGTH, trim_loop
from regard.kernels.int8 import quantize
from regard.model.attention import Attention
from regard.model.layers import DecoderLayer, EncoderLayer, FeedForward, PostNorm
from regard.model.positions import Positions, Rotary
from regard.model.transformer import EncoderDecoder, TransformerStack
from regard.runtime.native.coverage import ACTIVATIONS, NORMS, SWIGLU
from regard.runtime.native.library import LayerParts, SearchOptions, StackParts

SENTENCES = 128  # of a call: progress is shown, and Ctrl-C heard, between two calls
FIRST_LENGTH = 128  # positions of the first tables; they grow with the sentences


@dataclass(frozen=True)
class GrowingTable:
    """A table of positions, which is made again for longer sentences."""

    index: int
    make: Callable[[int], Tensor]
    """A length -> the numbers of the positions below it (rows, columns)."""
    limit: int
    """The longest sequence that it can be made for."""


class NativeDecoder:
    """A model that translates in native code; later changes of its weights have no effect."""

    def __init__(self, library: ctypes.CDLL, model: EncoderDecoder, bos: int, eos: int, quantized: bool):
        """`quantized`: products in int8, else in float32."""
        self._library, self._quantized = library, quantized
        self._handle = library.native_new(model.output.weight.shape[1], bos, eos, model.pad)
        weakref.finalize(self, library.native_free, self._handle)
        self._tables: dict[str, list[GrowingTable]] = {"encoder": [], "decoder": []}
        self._lengths = {"encoder": 0, "decoder": 0}
        with torch.no_grad():
            for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
                self._add_stack(side, stack)
            crosses: list[Attention] = [layer.cross_attn for layer in model.decoder.layers]  # type: ignore[misc]
            source_keys = self._linear(*(linear for cross in crosses for linear in (cross.k_proj, cross.v_proj)))
            library.native_projections(self._handle, source_keys, self._linear(model.output))

    def search(
        self,
        search: Search,
        sources: Sequence[Sequence[int]],
        max_output_length: int,
        on_finish: Callable[[int], None] = lambda count: None,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source (ids, eos included), best first; of n-best ones some too many.

        `on_finish` is called with the number of sentences that have just been finished.
        """
        assert isinstance(search, GreedySearch | BeamSearch)
        options, num_kept = _describe(search)
        results: list[list[Hypothesis]] = []
        for first in range(0, len(sources), SENTENCES):
            block = sources[first : first + SENTENCES]
            max_lengths = [_max_length(len(source), search.limits, max_output_length) for source in block]
            results += self._search_block(block, max_lengths, options, num_kept)
            on_finish(len(block))
        scored = not isinstance(search, GreedySearch) or search.scored
        return [[_tidy(one, search.limits, scored) for one in hypotheses] for hypotheses in results]

    def _search_block(
        self, sources: Sequence[Sequence[int]], max_lengths: list[int], options: SearchOptions, num_kept: int
    ) -> list[list[Hypothesis]]:
        offsets = np.cumsum([0, *map(len, sources)], dtype=np.int64)
        ids = np.fromiter((token for source in sources for token in source), np.int32, int(offsets[-1]))
        width = max(max_lengths)
        self._reserve("encoder", max(map(len, sources)))
        self._reserve("decoder", width)
        lengths = np.empty((len(sources), num_kept), np.int32)
        tokens, scores = np.empty((*lengths.shape, width), np.int32), np.empty(lengths.shape, np.float32)
        truncated = np.empty(lengths.shape, np.uint8)
        limits = np.array(max_lengths, np.int32)
        arrays = [array.ctypes.data for array in (tokens, lengths, scores, truncated)]
        self._library.native_search(
            *(self._handle, len(sources), ids.ctypes.data, offsets.ctypes.data, limits.ctypes.data),
            *(ctypes.byref(options), num_kept, width, *arrays),
        )
        rows = zip(tokens, lengths.tolist(), scores.tolist(), truncated.tolist(), strict=True)
        return [
            [
                Hypothesis(tuple(ids[:length].tolist()), score, bool(cut))
                for ids, length, score, cut in zip(*row, strict=True)
                if length >= 0
            ]
            for row in rows
        ]

    def _add_stack(self, side: str, stack: TransformerStack) -> None:
        embedding, dim = stack.embedding, stack.embedding.tokens.embedding_dim + stack.embedding.positions.width
        scaled = F.pad(embedding.tokens.weight * embedding.scale, (0, embedding.positions.width))
        zeros = embedding.tokens.weight.new_zeros(embedding.tokens.embedding_dim)

        def positions(length: int) -> Tensor:
            return embedding.positions.embed(zeros.expand(length, -1), torch.arange(length)).expand(length, dim)

        parts = StackParts(
            self._table(scaled),
            self._growing_table(side, positions, embedding.positions),
            self._norm(embedding.norm, dim),
            self._norm(stack.norm, dim),
        )
        self._library.native_stack(self._handle, side == "decoder", ctypes.byref(parts))
        for layer in stack.layers:
            assert isinstance(layer, EncoderLayer | DecoderLayer)
            fields = self._self_attention(side, layer, dim) | self._cross_attention(layer, dim)
            fields |= self._feed_forward(layer, dim)
            self._library.native_layer(self._handle, side == "decoder", ctypes.byref(LayerParts(**fields)))

    def _self_attention(self, side: str, layer: EncoderLayer | DecoderLayer, dim: int) -> dict[str, int]:
        attention, residual = layer.self_attn, layer.self_attn_residual
        fields = {
            "heads": attention.heads,
            "head_dim": attention.head_dim,
            "qkv": self._linear(attention.q_proj, attention.k_proj, attention.v_proj),
            "out": self._linear(attention.out_proj),
            "self_norm": self._norm(residual.norm, dim),
            "post_norm": isinstance(residual, PostNorm),
        }
        fields |= {"rotary_width": 0, "interleaved": 0, "cos": -1, "sin": -1, "bias": -1}
        positions = attention.positions
        if isinstance(positions, Rotary):
            fields |= {"rotary_width": positions.rotary_dim, "interleaved": positions.interleaved}
            for name, function in (("cos", torch.cos), ("sin", torch.sin)):
                fields[name] = self._growing_table(side, _angles(positions, function), positions)
        elif type(positions) is not Positions:
            fields["bias"] = self._growing_table(side, _distances(attention), positions)
        return fields

    def _cross_attention(self, layer: EncoderLayer | DecoderLayer, dim: int) -> dict[str, int]:
        if not isinstance(layer, DecoderLayer):
            return {"cross_heads": 0, "cross_head_dim": 0, "cross_q": -1, "cross_out": -1, "cross_norm": -1}
        attention = layer.cross_attn
        return {
            "cross_heads": attention.heads,
            "cross_head_dim": attention.head_dim,
            "cross_q": self._linear(attention.q_proj),
            "cross_out": self._linear(attention.out_proj),
            "cross_norm": self._norm(layer.cross_attn_residual.norm, dim),
        }

    def _feed_forward(self, layer: EncoderLayer | DecoderLayer, dim: int) -> dict[str, int]:
        module = layer.feed_forward
        is_plain = isinstance(module, FeedForward)
        return {
            "up": self._linear(module.up) if is_plain else self._linear(module.gate, module.up),  # type: ignore[arg-type]
            "down": self._linear(module.down),  # type: ignore[arg-type]
            "ffn_norm": self._norm(layer.feed_forward_residual.norm, dim),
            "activation": ACTIVATIONS[module.activation] if is_plain else SWIGLU,  # type: ignore[index]
        }

    def _linear(self, *modules: nn.Module) -> int:
        """Layers with the same input, as one product."""
        weight = torch.cat([module.weight for module in modules]).float()  # type: ignore[misc]
        biases = [module.bias for module in modules]
        bias = None if biases[0] is None else torch.cat(biases).float()  # type: ignore[arg-type]
        values: list[Tensor | None] = [weight, None, None, bias]
        if self._quantized:
            values[:3] = [None, *quantize(weight)]
        return self._hand_over("native_linear", weight.shape[1], weight.shape[0], tensors=values)

    def _norm(self, module: nn.Module, width: int) -> int:
        weight, bias = getattr(module, "weight", torch.ones(width)), getattr(module, "bias", None)
        epsilon = getattr(module, "epsilon", 0.0)
        return self._hand_over("native_norm", NORMS[type(module)], epsilon, width, tensors=[weight, bias])

    def _table(self, values: Tensor, index: int = -1) -> int:
        return self._hand_over("native_table", index, *values.shape, tensors=[values.float()])

    def _growing_table(self, side: str, make: Callable[[int], Tensor], positions: Positions) -> int:
        """A table that is filled when the first sentence is translated."""
        index = self._table(torch.zeros(1, 1))
        self._tables[side].append(GrowingTable(index, make, positions.limit))
        return index

    def _reserve(self, side: str, length: int) -> None:
        """Make the tables of a stack long enough; a length that the model has no positions for is a ModelError."""
        if length <= self._lengths[side]:
            return
        limit = min(table.limit for table in self._tables[side])
        length = max(length, min(limit, max(FIRST_LENGTH, 2 * length)))
        with torch.no_grad():
            for table in self._tables[side]:
                self._table(table.make(length), table.index)
        self._lengths[side] = length

    def _hand_over(self, function: str, *numbers: float, tensors: Sequence[Tensor | None]) -> Any:
        """Call a function that copies tensors."""
        held = [None if tensor is None else tensor.detach().contiguous() for tensor in tensors]
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in held]
        return getattr(self._library, function)(self._handle, *numbers, *pointers)


def _describe(search: GreedySearch | BeamSearch) -> tuple[SearchOptions, int]:
    """The options of a search, and how many hypotheses are wanted. Greedy search is one of a single beam."""
    repeats = search.limits.loop_repeats
    if isinstance(search, GreedySearch):
        return SearchOptions(1, 1, search.scored, repeats, MAX_CYCLE_LENGTH, 1.0), 1
    several = search.nbest > 1  # then some may have the same text, which is known here alone
    finished = search.size * (1 + several)
    options = SearchOptions(search.size, finished, True, repeats, MAX_CYCLE_LENGTH, search.alpha)
    return options, finished + search.size if several else 1


def _max_length(source_length: int, limits: Limits, max_output_length: int) -> int:
    return min(int(source_length * limits.factor) + limits.extra, max_output_length)


def _tidy(hypothesis: Hypothesis, limits: Limits, scored: bool) -> Hypothesis:
    """Without the repetitions of a loop, and without a score that was not computed."""
    if hypothesis.truncated:
        hypothesis = replace(hypothesis, ids=tuple(trim_loop(list(hypothesis.ids), limits.loop_repeats)))
    return hypothesis if scored else replace(hypothesis, score=math.nan)


def _angles(positions: Rotary, function: Callable[[Tensor], Tensor]) -> Callable[[int], Tensor]:
    """The cosine or the sine of every angle of a position: a length -> (length, pairs)."""
    return lambda length: function(torch.arange(length, dtype=torch.float64)[:, None] * positions.inv_freq)


def _distances(attention: Attention) -> Callable[[int], Tensor]:
    """What is added to scores at every distance: a length L -> (H, 2L - 1), from -(L - 1) on."""

    def biases(length: int) -> Tensor:
        q = torch.zeros(1, attention.heads, 1, attention.head_dim)
        q_position, k_positions = torch.tensor([[length - 1]]), torch.arange(2 * length - 1)[None]
        bias = attention.positions.bias(q, q_position, k_positions)
        assert bias is not None
        return bias[0, :, 0]

    return biases
