"""Position encodings: their tables, and their effect on attention when all tokens are the same."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.config.registries import POSITION_SCHEMES
from regard.inspection.example import Example, tokens_from_ids
from regard.inspection.flow.decompose import MASKED_SCORE_DIVISOR, head_attn_mask, toeplitz_r2
from regard.inspection.trace import AttentionTrace, Model, Trace, attention_sites, trace_forward
from regard.model.attention import Attention
from regard.model.modules import device_of
from regard.model.positions import (
    Absolute,
    ALiBi,
    Concatenated,
    Learned,
    LearnedBias,
    Positions,
    Relative,
    Rotary,
    SelectedHeads,
    Sinusoidal,
    T5Bias,
)
from regard.model.taps import alter
from regard.model.transformer import TokenEmbedding

Matrix = NDArray[np.float64]
SCHEME_NAMES: dict[type[Positions], str] = {
    Positions: "none",
    Sinusoidal: "sinusoidal",
    Learned: "learned",
    Concatenated: "concatenated",
    Relative: "relative",
    LearnedBias: "bias",
    T5Bias: "t5",
    ALiBi: "alibi",
    Rotary: "rotary",
}
"""As the setting positions.kind has them."""


@dataclass(frozen=True)
class PositionTable:
    """The parameters or constants of a position encoding, a row for each position or distance."""

    name: str
    """Where it is applied: encoder.embed, decoder.1.self."""
    row_axis: str
    """position or distance (j - i)"""
    column_axis: str
    """dimension, head or frequency"""
    row_labels: tuple[int, ...]
    """The position or distance of each row."""
    values: Matrix
    """NaN where the encoding masks a distance."""

    @property
    def gram(self) -> Matrix:
        """The Gram matrix: inner products of rows, which show how similar positions are."""
        values = np.nan_to_num(self.values)
        return np.asarray(values @ values.T)

    @property
    def singular_values(self) -> Matrix:
        """Singular values, largest first."""
        return np.asarray(np.linalg.svd(np.nan_to_num(self.values), compute_uv=False))

    @property
    def distance_share(self) -> float:
        """The share of the Gram matrix's variance that depends on distance alone; 1 for sinusoids. NaN: no variance."""
        gram = self.gram
        within_diagonals = sum(
            float(np.square(d - d.mean()).sum()) for d in map(gram.diagonal, range(1 - len(gram), len(gram)))
        )
        total = float(np.square(gram - gram.mean()).sum())
        return 1 - within_diagonals / total if total > 0 else math.nan


class PreferredOffset(NamedTuple):
    """The distance j - i that a head attends to most."""

    offset: int
    uniform_ratio: float
    """Its mean weight divided by that of uniform attention."""


@dataclass(frozen=True)
class PositionEffect:
    """The effect of positions alone in one attention: for a sentence of identical tokens."""

    name: str
    head_ids: tuple[int, ...]
    scores: Matrix
    """(H, T, T) less the mean of each row, which a softmax ignores; NaN where masked."""
    weights: Matrix
    """(H, T, T)"""
    distance_share: Matrix
    """(H,) the share of the scores' variance that depends on distance alone."""

    def preferred_offset(self, head: int) -> PreferredOffset:
        """The distance with the largest mean weight, relative to uniform attention.

        Only distances that at least half of the queries have; the others depend on the ends of the sentence.
        """
        n = len(self.weights[head])
        num_allowed = np.sum(~np.isnan(self.scores[head]), axis=1, keepdims=True)
        ratios = self.weights[head] * num_allowed  # 1 everywhere if attention is uniform
        means = {d: float(np.diagonal(ratios, d).mean()) for d in range(-(n // 2), n // 2 + 1)}
        best = max(means, key=lambda d: (round(means[d], 6), -abs(d)))
        return PreferredOffset(best, means[best])


@dataclass(frozen=True)
class StackPositions:
    """The position encoding of an encoder or decoder."""

    stack: str
    scheme: str
    """The kind of position encoding, as in the settings: sinusoidal, rotary …"""
    tables: list[PositionTable]
    """One of the embedding, or one for each layer; empty if the encoding has no table."""
    effects: list[PositionEffect]
    """One for each layer."""


@torch.no_grad()
def analyze_stack_positions(model: Model, stack: str, count: int) -> StackPositions:
    """The first `count` positions of a stack, or as many as its tables have."""
    self_sites = [site for site in attention_sites(model) if site.name.startswith(stack) and site.kind != "cross"]
    embedding_scheme, attention_scheme = getattr(model, stack).embedding.positions, self_sites[0].attention.positions
    count = min(count, *(site.attention.positions.limit for site in attention_sites(model)), *_position_limits(model))
    constant_trace, position_ids = trace_constant_sentence(model, count), torch.arange(count, device=device_of(model))
    tables = _position_tables(f"{stack}.embed", embedding_scheme, position_ids, _dummy_query(self_sites[0].attention))
    for site in self_sites:
        query = _dummy_query(site.attention)
        tables += _position_tables(site.name, site.attention.positions, position_ids, query, stack == "decoder")
        if _base_scheme(attention_scheme) is _base_scheme(self_sites[-1].attention.positions):
            break  # one encoding is shared by all layers
    names = [_scheme_name(scheme) for scheme in (_base_scheme(attention_scheme), embedding_scheme)]
    name = next((name for name in names if name != "none"), "none")
    return StackPositions(
        stack, name, tables, [_position_effect(constant_trace.attentions[site.name]) for site in self_sites]
    )


def _scheme_name(scheme: Positions) -> str:
    registered = {part.scheme_class: name for name, part in POSITION_SCHEMES.parts()}
    return SCHEME_NAMES.get(type(scheme)) or registered.get(type(scheme), type(scheme).__name__)


def trace_constant_sentence(model: Model, count: int) -> Trace:
    """Trace a sentence of `count` identical tokens, the mean of all embeddings: only positions differ."""
    side = tokens_from_ids([int(model.pad == 0)] * count)  # any id but padding; the embeddings are replaced
    stacks = {stack: getattr(model, stack) for stack in ("encoder", "decoder") if hasattr(model, stack)}
    interventions = {f"{name}.embed": partial(_mean_word_embeddings, stack.embedding) for name, stack in stacks.items()}
    with alter(model, interventions):
        return trace_forward(model, Example(side, side, side))


def _mean_word_embeddings(embedding: TokenEmbedding, x: Tensor) -> Tensor:
    word = embedding.tokens.weight.mean(dim=0) * embedding.scale
    position_ids = torch.arange(x.shape[1], device=x.device)[None]
    return embedding.add_positions(word.expand(1, x.shape[1], -1), position_ids)


def _position_limits(model: Model) -> list[int]:
    return [getattr(model, name).embedding.positions.limit for name in ("encoder", "decoder") if hasattr(model, name)]


def _base_scheme(positions: Positions) -> Positions:
    return positions.scheme if isinstance(positions, SelectedHeads) else positions


def _position_effect(attn: AttentionTrace) -> PositionEffect:
    attn_mask = head_attn_mask(attn)
    masked_scores = attn.scores.double().masked_fill(~attn_mask, 0.0)
    centered = masked_scores - masked_scores.sum(dim=-1, keepdim=True) / attn_mask.sum(dim=-1, keepdim=True)
    return PositionEffect(
        attn.site.name,
        attn.site.attention.head_ids,
        centered.masked_fill(~attn_mask, torch.nan).cpu().numpy(),
        attn.weights.double().cpu().numpy(),
        toeplitz_r2(attn),
    )


class TableSpec(NamedTuple):
    """A `PositionTable` without its name, as a tensor."""

    row_axis: str
    column_axis: str
    row_labels: range
    values: Tensor


def _dummy_query(attention: Attention) -> Tensor:
    """A query of zeros (1, H, 1, K): the bias of most encodings depends on the distance alone."""
    return attention.q_proj.weight.new_zeros(1, attention.heads, 1, attention.head_dim)


def _position_tables(
    name: str, positions: Positions, position_ids: Tensor, query: Tensor, causal: bool = False
) -> list[PositionTable]:
    """The tables of a position encoding for these positions."""
    extract = next(
        (extract for kind, extract in TABLE_EXTRACTORS.items() if isinstance(_base_scheme(positions), kind)),
        partial(_bias_tables, query),
    )
    return [
        PositionTable(name, spec.row_axis, spec.column_axis, tuple(spec.row_labels), spec.values.double().cpu().numpy())
        for spec in extract(positions, position_ids, causal)
    ]


def _absolute_tables(positions: Absolute, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """Vectors that are added to token embeddings, or concatenated with them."""
    inner = positions.encoding if isinstance(positions, Concatenated) else positions
    vectors = inner.vectors(position_ids[None], torch.zeros(1))[0]
    return [TableSpec("position", "dimension", range(len(position_ids)), vectors)]


def _rotary_tables(positions: Rotary, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """cos and sin of the angles by which each pair of dimensions is rotated."""
    angle = position_ids.cpu().double()[:, None] * positions.inv_freq.cpu().double()
    return [TableSpec("position", "frequency", range(len(position_ids)), torch.cat((angle.cos(), angle.sin()), dim=1))]


def _relative_tables(positions: Relative, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """Relative embeddings of keys and, if there are any, of values.  Shaw et al. 2018."""
    max_distance = min(positions.max_relative, len(position_ids) - 1)
    distances = range(-max_distance, 1 if causal else max_distance + 1)
    tables = {"keys": positions.keys, "values": positions.values}
    rows = [d + positions.max_relative for d in distances]
    return [
        TableSpec("distance", f"dimension of {name}", distances, table[rows])
        for name, table in tables.items()
        if table is not None
    ]


def _bias_tables(query: Tensor, positions: Positions, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """The bias that each head adds to the scores at each distance; empty for an encoding without bias."""
    last = len(position_ids) - 1
    distances = range(-last, 1 if causal else last + 1)
    keys = last + torch.arange(distances.start, distances.stop, device=position_ids.device)
    bias = positions.bias(query, position_ids[None, -1:], keys[None])
    if bias is None:
        return []
    biases = bias[0, :, 0].T  # (distances, H)
    masked = biases < torch.finfo(biases.dtype).min / MASKED_SCORE_DIVISOR
    return [TableSpec("distance", "head", distances, biases.masked_fill(masked, torch.nan))]


TABLE_EXTRACTORS: dict[type[Positions], Callable[..., list[TableSpec]]] = {
    Absolute: _absolute_tables,
    Rotary: _rotary_tables,
    Relative: _relative_tables,
}
"""The tables of each kind of encoding; all others add a bias by head and distance."""
