"""Positions seen: what a scheme holds, which places it takes for alike, and where heads look if all words are one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.inspection.example import Example, bare_side
from regard.inspection.flow.decompose import HIDDEN, allowed, distance_share
from regard.inspection.trace import Look, Model, Trace, sites, trace
from regard.model.positions import Absolute, Concatenated, Positions, Relative, Rotary, SelectedHeads
from regard.model.taps import alter
from regard.model.transformer import TokenEmbedding, device_of

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Sheet:
    """The numbers that a scheme holds, a row for each place or distance."""

    name: str
    """Where they act: encoder.embed, decoder.1.self."""
    rows: str
    """place or distance (j - i)"""
    columns: str
    """dimension, head or wave"""
    at: tuple[int, ...]
    """Which place or distance each row is."""
    values: Matrix
    """NaN where a head is not let look."""

    @property
    def gram(self) -> Matrix:
        """The inner products of rows: which places look alike."""
        known = np.nan_to_num(self.values)
        return np.asarray(known @ known.T)

    @property
    def singular(self) -> Matrix:
        """Singular values, largest first: in how many directions rows differ."""
        return np.asarray(np.linalg.svd(np.nan_to_num(self.values), compute_uv=False))

    @property
    def by_distance(self) -> float:
        """The share of the Gram matrix's variance that the distance of two rows decides alone; 1 for waves."""
        gram = self.gram
        rest = sum(float(np.square(d - d.mean()).sum()) for d in map(gram.diagonal, range(1 - len(gram), len(gram))))
        whole = float(np.square(gram - gram.mean()).sum())
        return 1 - rest / whole if whole > 0 else 1.0


@dataclass(frozen=True)
class Effect:
    """What places alone do in one attention: a sentence whose words are all one and the same."""

    name: str
    heads: tuple[int, ...]
    scores: Matrix
    """(H, places, places) less the mean of each row, which a softmax ignores; NaN where a query may not look."""
    weights: Matrix
    by_distance: Matrix
    """(H,) the share of the scores' variance that the distance decides alone."""

    def favourite(self, head: int) -> tuple[int, float]:
        """The distance that a head looks at most, and how many times as much as even attention would.

        Of the distances that half of the queries have at least; the others are a matter of the sentence's ends.
        """
        n = len(self.weights[head])
        open_ = np.sum(~np.isnan(self.scores[head]), axis=1, keepdims=True)
        times = self.weights[head] * open_  # 1 everywhere if attention is even
        means = {d: float(np.diagonal(times, d).mean()) for d in range(-(n // 2), n // 2 + 1)}
        best = max(means, key=lambda d: (round(means[d], 6), -abs(d)))
        return best, means[best]


@dataclass(frozen=True)
class Places:
    """What a stack knows of places."""

    stack: str
    scheme: str
    sheets: list[Sheet]
    """One where words are marked, or one a layer; none where nothing is held."""
    effects: list[Effect]
    """One a layer."""


@torch.no_grad()
def places(model: Model, stack: str, count: int) -> Places:
    """The first places of a stack, as many as it has."""
    own = [site for site in sites(model) if site.name.startswith(stack) and site.kind != "cross"]
    at_words, inside = getattr(model, stack).embedding.positions, own[0].attention.positions
    count = min(count, *(site.attention.positions.limit for site in sites(model)), *_limits(model))
    said, at = monotony(model, count), torch.arange(count, device=device_of(model))
    sheets = _sheets(f"{stack}.embed", at_words, at, stack == "decoder")
    for site in own:
        sheets += _sheets(site.name, site.attention.positions, at, stack == "decoder")
        if _whole(inside) is _whole(own[-1].attention.positions):
            break  # one object serves all layers
    scheme = next((s for s in (_whole(inside), at_words) if type(s) is not Positions), None)
    name = "none" if scheme is None else type(scheme).__name__.lower()
    return Places(stack, name, sheets, [_effect(said.looks[site.name]) for site in own])


def monotony(model: Model, count: int) -> Trace:
    """A sentence of so many places that says one word over and over, the mean of all: only places tell it apart."""
    side = bare_side([int(model.pad == 0)] * count)  # any id but padding; the words are replaced
    stacks = {stack: getattr(model, stack) for stack in ("encoder", "decoder") if hasattr(model, stack)}
    changes = {f"{name}.embed": partial(_one_word, stack.embedding) for name, stack in stacks.items()}
    with alter(model, changes):
        return trace(model, Example(side, side, side))


def _one_word(embedding: TokenEmbedding, x: Tensor) -> Tensor:
    word = embedding.tokens.weight.mean(dim=0) * embedding.scale
    at = torch.arange(x.shape[1], device=x.device)[None]
    return embedding.add_positions(word.expand(1, x.shape[1], -1), at)


def _limits(model: Model) -> list[int]:
    return [getattr(model, name).embedding.positions.limit for name in ("encoder", "decoder") if hasattr(model, name)]


def _whole(positions: Positions) -> Positions:
    return positions.scheme if isinstance(positions, SelectedHeads) else positions


def _effect(look: Look) -> Effect:
    keep = allowed(look)
    seen = look.scores.double().masked_fill(~keep, 0.0)
    centred = seen - seen.sum(dim=-1, keepdim=True) / keep.sum(dim=-1, keepdim=True)
    return Effect(
        look.site.name,
        look.site.attention.head_ids,
        centred.masked_fill(~keep, torch.nan).cpu().numpy(),
        look.weights.double().cpu().numpy(),
        distance_share(look),
    )


Shown = tuple[str, str, range, Tensor]
"""What rows are, what columns are, the numbers of the rows, and the values."""


def _sheets(name: str, positions: Positions, at: Tensor, causal: bool) -> list[Sheet]:
    """What a scheme holds for these places, where it acts."""
    show = next((show for kind, show in SHOWN.items() if isinstance(_whole(positions), kind)), _by_head)
    return [
        Sheet(name, rows, columns, tuple(numbers), values.double().cpu().numpy())
        for rows, columns, numbers, values in show(positions, at, causal)
    ]


def _added(positions: Absolute, at: Tensor, causal: bool) -> list[Shown]:
    """Vectors that are added to words, or stand beside them."""
    inner = positions.encoding if isinstance(positions, Concatenated) else positions
    return [("place", "dimension", range(len(at)), inner.vectors(at[None], torch.zeros(1))[0])]


def _turned(positions: Rotary, at: Tensor, causal: bool) -> list[Shown]:
    """cos and sin of the angles by which each pair of dimensions is turned."""
    angle = at.cpu().double()[:, None] * positions.inv_freq.cpu().double()
    return [("place", "wave", range(len(at)), torch.cat((angle.cos(), angle.sin()), dim=1))]


def _asked(positions: Relative, at: Tensor, causal: bool) -> list[Shown]:
    """Vectors of distances that queries are compared with, and those that are added to values."""
    near = min(positions.max_relative, len(at) - 1)
    apart = range(-near, 1 if causal else near + 1)
    tables = {"keys": positions.keys, "values": positions.values}
    rows = [d + positions.max_relative for d in apart]
    return [("distance", f"dimension of {name}", apart, t[rows]) for name, t in tables.items() if t is not None]


def _by_head(positions: Positions, at: Tensor, causal: bool) -> list[Shown]:
    """What each head adds to the score at each distance; nothing for a scheme that adds nothing."""
    last = len(at) - 1
    apart = range(-last, 1 if causal else last + 1)
    keys = last + torch.arange(apart.start, apart.stop, device=at.device)
    # The query is empty: what these schemes add depends on the distance alone.
    bias = positions.bias(torch.zeros(1, 1, 1, 1, device=at.device), at[None, -1:], keys[None])
    if bias is None:
        return []
    found = bias[0, :, 0].T  # (distances, H)
    return [("distance", "head", apart, found.masked_fill(found < torch.finfo(found.dtype).min / HIDDEN, torch.nan))]


SHOWN: dict[type[Positions], Callable[..., list[Shown]]] = {Absolute: _added, Rotary: _turned, Relative: _asked}
"""How each kind of scheme shows what it holds; all others add a number by head and distance."""
