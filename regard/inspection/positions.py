"""Positions seen: what a scheme holds, which places it takes for alike, and where heads look if all words are one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.example import Example, tokens_from_ids
from regard.inspection.flow.decompose import MASKED_SCORE_DIVISOR, head_attn_mask, toeplitz_r2
from regard.inspection.trace import AttentionTrace, Model, Trace, attention_sites, trace_forward
from regard.model.positions import Absolute, Concatenated, Positions, Relative, Rotary, SelectedHeads
from regard.model.taps import alter
from regard.model.transformer import TokenEmbedding, device_of

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PositionTable:
    """The numbers that a scheme holds, a row for each place or distance."""

    name: str
    """Where they act: encoder.embed, decoder.1.self."""
    row_axis: str
    """place or distance (j - i)"""
    column_axis: str
    """dimension, head or wave"""
    row_labels: tuple[int, ...]
    """Which place or distance each row is."""
    values: Matrix
    """NaN where a head is not let look."""

    @property
    def gram(self) -> Matrix:
        """The inner products of rows: which places look alike."""
        values = np.nan_to_num(self.values)
        return np.asarray(values @ values.T)

    @property
    def singular_values(self) -> Matrix:
        """Singular values, largest first: in how many directions rows differ."""
        return np.asarray(np.linalg.svd(np.nan_to_num(self.values), compute_uv=False))

    @property
    def distance_share(self) -> float:
        """The share of the Gram matrix's variance that the distance of two rows decides alone; 1 for waves."""
        gram = self.gram
        within_diagonals = sum(
            float(np.square(d - d.mean()).sum()) for d in map(gram.diagonal, range(1 - len(gram), len(gram)))
        )
        total = float(np.square(gram - gram.mean()).sum())
        return 1 - within_diagonals / total if total > 0 else 1.0


@dataclass(frozen=True)
class PositionEffect:
    """What places alone do in one attention: a sentence whose words are all one and the same."""

    name: str
    head_ids: tuple[int, ...]
    scores: Matrix
    """(H, places, places) less the mean of each row, which a softmax ignores; NaN where a query may not look."""
    weights: Matrix
    distance_share: Matrix
    """(H,) the share of the scores' variance that the distance decides alone."""

    def preferred_offset(self, head: int) -> tuple[int, float]:
        """The distance that a head looks at most, and how many times as much as even attention would.

        Of the distances that half of the queries have at least; the others are a matter of the sentence's ends.
        """
        n = len(self.weights[head])
        num_allowed = np.sum(~np.isnan(self.scores[head]), axis=1, keepdims=True)
        ratios = self.weights[head] * num_allowed  # 1 everywhere if attention is even
        means = {d: float(np.diagonal(ratios, d).mean()) for d in range(-(n // 2), n // 2 + 1)}
        best = max(means, key=lambda d: (round(means[d], 6), -abs(d)))
        return best, means[best]


@dataclass(frozen=True)
class StackPositions:
    """What a stack knows of places."""

    stack: str
    scheme: str
    tables: list[PositionTable]
    """One where words are marked, or one a layer; none where nothing is held."""
    effects: list[PositionEffect]
    """One a layer."""


@torch.no_grad()
def analyze_stack_positions(model: Model, stack: str, count: int) -> StackPositions:
    """The first places of a stack, as many as it has."""
    self_sites = [site for site in attention_sites(model) if site.name.startswith(stack) and site.kind != "cross"]
    embedding_scheme, attention_scheme = getattr(model, stack).embedding.positions, self_sites[0].attention.positions
    count = min(count, *(site.attention.positions.limit for site in attention_sites(model)), *_position_limits(model))
    constant_trace, position_ids = trace_constant_sentence(model, count), torch.arange(count, device=device_of(model))
    tables = _position_tables(f"{stack}.embed", embedding_scheme, position_ids, stack == "decoder")
    for site in self_sites:
        tables += _position_tables(site.name, site.attention.positions, position_ids, stack == "decoder")
        if _base_scheme(attention_scheme) is _base_scheme(self_sites[-1].attention.positions):
            break  # one object serves all layers
    scheme = next((s for s in (_base_scheme(attention_scheme), embedding_scheme) if type(s) is not Positions), None)
    name = "none" if scheme is None else type(scheme).__name__.lower()
    return StackPositions(
        stack, name, tables, [_position_effect(constant_trace.attentions[site.name]) for site in self_sites]
    )


def trace_constant_sentence(model: Model, count: int) -> Trace:
    """A sentence of so many places that says one word over and over, the mean of all: only places tell it apart."""
    side = tokens_from_ids([int(model.pad == 0)] * count)  # any id but padding; the words are replaced
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


TableSpec = tuple[str, str, range, Tensor]
"""What rows are, what columns are, the numbers of the rows, and the values."""


def _position_tables(name: str, positions: Positions, position_ids: Tensor, causal: bool) -> list[PositionTable]:
    """What a scheme holds for these places, where it acts."""
    extract = next(
        (extract for kind, extract in TABLE_EXTRACTORS.items() if isinstance(_base_scheme(positions), kind)),
        _bias_tables,
    )
    return [
        PositionTable(name, row_axis, column_axis, tuple(row_labels), values.double().cpu().numpy())
        for row_axis, column_axis, row_labels, values in extract(positions, position_ids, causal)
    ]


def _absolute_tables(positions: Absolute, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """Vectors that are added to words, or stand beside them."""
    inner = positions.encoding if isinstance(positions, Concatenated) else positions
    return [("place", "dimension", range(len(position_ids)), inner.vectors(position_ids[None], torch.zeros(1))[0])]


def _rotary_tables(positions: Rotary, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """cos and sin of the angles by which each pair of dimensions is turned."""
    angle = position_ids.cpu().double()[:, None] * positions.inv_freq.cpu().double()
    return [("place", "wave", range(len(position_ids)), torch.cat((angle.cos(), angle.sin()), dim=1))]


def _relative_tables(positions: Relative, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """Vectors of distances that queries are compared with, and those that are added to values."""
    max_distance = min(positions.max_relative, len(position_ids) - 1)
    distances = range(-max_distance, 1 if causal else max_distance + 1)
    tables = {"keys": positions.keys, "values": positions.values}
    rows = [d + positions.max_relative for d in distances]
    return [("distance", f"dimension of {name}", distances, t[rows]) for name, t in tables.items() if t is not None]


def _bias_tables(positions: Positions, position_ids: Tensor, causal: bool) -> list[TableSpec]:
    """What each head adds to the score at each distance; nothing for a scheme that adds nothing."""
    last = len(position_ids) - 1
    distances = range(-last, 1 if causal else last + 1)
    keys = last + torch.arange(distances.start, distances.stop, device=position_ids.device)
    # The query is empty: what these schemes add depends on the distance alone.
    bias = positions.bias(torch.zeros(1, 1, 1, 1, device=position_ids.device), position_ids[None, -1:], keys[None])
    if bias is None:
        return []
    biases = bias[0, :, 0].T  # (distances, H)
    return [
        (
            "distance",
            "head",
            distances,
            biases.masked_fill(biases < torch.finfo(biases.dtype).min / MASKED_SCORE_DIVISOR, torch.nan),
        )
    ]


TABLE_EXTRACTORS: dict[type[Positions], Callable[..., list[TableSpec]]] = {
    Absolute: _absolute_tables,
    Rotary: _rotary_tables,
    Relative: _relative_tables,
}
"""How each kind of scheme shows what it holds; all others add a number by head and distance."""
