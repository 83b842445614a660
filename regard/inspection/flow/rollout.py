"""Where a state comes from, through all layers: rollout and flow, in the encoder and on into the decoder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LONGEST_FLOW = 32  # pieces: one maximal flow a pair of tokens takes its time
UNIT = 2**30  # flows are counted in whole steps of this part of 1
TINY = 1e-12
Capacity = NDArray[np.float64]


def step(weights: Tensor, mix: Tensor | float = 0.5) -> Tensor:
    """Â = (1 - r) I + r A, rows sum to 1: a layer's attention (T, T) beside its residual.

    r = 0.5 is an assumption of Abnar and Zuidema 2020. A row that looks at nothing keeps itself.
    """
    n = len(weights)
    ratio = torch.as_tensor(mix, dtype=weights.dtype, device=weights.device).expand(n)[:, None]
    mixed = (1 - ratio) * _identity(weights) + ratio * weights
    return mixed / mixed.sum(dim=1, keepdim=True)


def measured_step(weights: Tensor, mix: Tensor | float) -> Tensor:
    """The same where r was measured, row by row, as the share of all others: 1 - Â_ii = r.  Kobayashi et al. 2021.

    What a token takes from itself is in 1 - r already, so A is without its diagonal, its rows brought back to a sum of
    1. A row that has only itself stays itself.
    """
    others = weights - torch.diag(weights.diagonal())
    total = others.sum(dim=1, keepdim=True)
    return step(torch.where(total > TINY, others / total.clamp(min=TINY), _identity(weights)), mix)


def _identity(like: Tensor) -> Tensor:
    return torch.eye(len(like), dtype=like.dtype, device=like.device)


def rollout(layers: Sequence[Tensor], mix: Sequence[Tensor | float] | None = None) -> Tensor:
    """R = Â_L … Â_1: how much of each final state comes from each word.  Abnar and Zuidema 2020, section 4.1.

    `layers` are weights (T, T), averaged over heads, first layer first; `mix` what was measured of each, else halves.
    """
    ratios: Sequence[Tensor | float] = [0.5] * len(layers) if mix is None else mix
    mixed = step if mix is None else measured_step
    whole = _identity(layers[0])
    for weights, ratio in zip(layers, ratios, strict=True):
        whole = mixed(weights, ratio) @ whole
    return whole


@dataclass(frozen=True)
class Shares:
    """Where each state of the decoder comes from: the source, and the target so far. Together 1."""

    source: Tensor
    """(T, S)"""
    target: Tensor
    """(T, T)"""

    @property
    def source_share(self) -> Tensor:
        """(T,)"""
        return self.source.sum(dim=1)


Ratio = Tensor | float


def rollout_across(
    encoder: Tensor, self_: Sequence[Tensor], cross: Sequence[Tensor], mix: Sequence[tuple[Ratio, Ratio]] | None = None
) -> Shares:
    """Rollout of a decoder whose cross-attention (T, S) reads what the encoder's rollout (S, S) has mixed.

    `mix` has a layer's ratios of self- and cross-attention. At 0.5 for all, the source's share is 1 - 2^-L whatever the
    sentence: only ratios that were measured say anything about it.
    """
    size, words = cross[0].shape
    ratios = [(0.5, 0.5)] * len(cross) if mix is None else mix
    source = cross[0].new_zeros(size, words)
    target = torch.eye(size, dtype=source.dtype, device=source.device)
    for own, other, (of_self, of_cross) in zip(self_, cross, ratios, strict=True):
        mixed = (step if mix is None else measured_step)(own, of_self)
        ratio = torch.as_tensor(of_cross, dtype=source.dtype, device=source.device).expand(size)[:, None]
        source, target = mixed @ source, mixed @ target
        source, target = (1 - ratio) * source + ratio * (other @ encoder), (1 - ratio) * target
    return Shares(source, target)


def contrast(rows: Tensor) -> float:
    """How differently two rows (T, S) come about, on average: total variation, 0 all alike, 1 nothing shared.

    Depth alone makes them alike, whatever the weights are: so this is to be read beside that of weights by chance.
    """
    shares = rows / rows.sum(dim=1, keepdim=True).clamp(min=TINY)
    count = len(rows)
    return float(torch.cdist(shares, shares, p=1).sum()) / 2 / max(1, count * (count - 1))


def flow(layers: Sequence[Tensor]) -> Tensor | None:
    """The largest flow from each final state to each word, edges as wide as Â.  Abnar and Zuidema 2020, section 4.2.

    None above 32 pieces. At least the rollout, at most 1.
    """
    n = len(layers[0])
    if n > LONGEST_FLOW:
        return None
    graph = _layered([step(weights).double().cpu().numpy() for weights in layers])
    top = len(layers) * n
    return torch.tensor(flows(graph, range(top, top + n), range(n)), dtype=layers[0].dtype)


def flow_across(encoder: Sequence[Tensor], self_: Sequence[Tensor], cross: Sequence[Tensor]) -> Tensor | None:
    """The largest flow from each final state of the decoder to each word of the source."""
    size, words = cross[0].shape
    if max(size, words) > LONGEST_FLOW:
        return None
    below = [step(weights).double().cpu().numpy() for weights in encoder]
    graph = _layered(below, room=size * (2 * len(self_) + 1))
    start, top = words * (len(below) + 1), words * len(below)
    for layer, (own, other) in enumerate(zip(self_, cross, strict=True)):
        a, b, c = (start + size * (2 * layer + n) for n in range(3))
        graph[b : b + size, a : a + size] = step(own).double().cpu().numpy()
        graph[c : c + size, b : b + size] = 0.5 * np.eye(size)
        graph[c : c + size, top : top + words] = 0.5 * other.double().cpu().numpy()
    last = start + size * 2 * len(self_)
    return torch.tensor(flows(graph, range(last, last + size), range(words)), dtype=cross[0].dtype)


def _layered(steps: Sequence[Capacity], room: int = 0) -> Capacity:
    """Capacities from node to node: layer l's token i is node l·n + i, edges go down a layer."""
    n = len(steps[0])
    graph = np.zeros((n * (len(steps) + 1) + room,) * 2)
    for layer, matrix in enumerate(steps):
        graph[n * (layer + 1) : n * (layer + 2), n * layer : n * (layer + 1)] = matrix
    return graph


def flows(capacity: Capacity, sources: Iterable[int], sinks: Iterable[int]) -> list[list[float]]:
    """The largest flow from each of some nodes to each of others, by Dinic's way, in steps of 2^-30."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    whole = csr_array(np.rint(capacity * UNIT).astype(np.int32))
    ends = list(sinks)
    return [[maximum_flow(whole, source, sink).flow_value / UNIT for sink in ends] for source in sources]


def receptive(layers: Sequence[Tensor]) -> list[frozenset[int]]:
    """Which words each final state can know of if every head takes its best key alone, and the residual stays.

    R(i) = R'(i) ∪ R'(argmax_j A_ij) over heads: at most (heads + 1)^layers words. `layers` are weights (H, T, T).
    """
    known = [frozenset({i}) for i in range(layers[0].shape[-1])]
    for weights in layers:
        best = weights.argmax(dim=-1).T.tolist()  # (T, H)
        known = [known[i].union(*(known[j] for j in row)) for i, row in enumerate(best)]
    return known
