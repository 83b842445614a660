"""Attention rollout and attention flow through all layers of encoder and decoder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MAX_FLOW_TOKENS = 32  # one maximal flow for each pair of tokens is slow
CAPACITY_SCALE = 2**30  # capacities are integers: multiples of 1 / this
EPSILON = 1e-12
Capacity = NDArray[np.float64]


def add_residual(weights: Tensor, mixing_ratio: Tensor | float = 0.5) -> Tensor:
    """Â = (1 - r) I + r A, with rows normalized: attention (T, T) of a layer with its residual connection.

    r = 0.5 is an assumption of Abnar and Zuidema 2020. A row without weights keeps itself.
    """
    n = len(weights)
    ratio = torch.as_tensor(mixing_ratio, dtype=weights.dtype, device=weights.device).expand(n)[:, None]
    attention = (1 - ratio) * _identity(weights) + ratio * weights
    return attention / attention.sum(dim=1, keepdim=True)


def add_measured_residual(weights: Tensor, mixing_ratio: Tensor | float) -> Tensor:
    """The same with a measured mixing ratio r for each row: 1 - Â_ii = r.  Kobayashi et al. 2021.

    What a token takes from itself is in 1 - r already, so the diagonal of A is removed and its rows are renormalized.
    A row with nothing but its diagonal becomes the identity.
    """
    off_diagonal = weights - torch.diag(weights.diagonal())
    total = off_diagonal.sum(dim=1, keepdim=True)
    return add_residual(
        torch.where(total > EPSILON, off_diagonal / total.clamp(min=EPSILON), _identity(weights)), mixing_ratio
    )


def _identity(like: Tensor) -> Tensor:
    return torch.eye(len(like), dtype=like.dtype, device=like.device)


def attention_rollout(layers: Sequence[Tensor], mixing_ratios: Sequence[Tensor | float] | None = None) -> Tensor:
    """R = Â_L … Â_1: the share of each input token in each final state.  Abnar and Zuidema 2020, section 4.1.

    `layers` are weights (T, T), averaged over heads, first layer first; `mixing_ratios` are measured, or 0.5 if None.
    """
    ratios: Sequence[Tensor | float] = [0.5] * len(layers) if mixing_ratios is None else mixing_ratios
    residual_fn = add_residual if mixing_ratios is None else add_measured_residual
    joint_attention = _identity(layers[0])
    for weights, ratio in zip(layers, ratios, strict=True):
        joint_attention = residual_fn(weights, ratio) @ joint_attention
    return joint_attention


@dataclass(frozen=True)
class DecoderRollout:
    """Shares of source and target tokens in each decoder state; together they sum to 1."""

    source: Tensor
    """(T, S)"""
    target: Tensor
    """(T, T)"""

    @property
    def source_share(self) -> Tensor:
        """(T,)"""
        return self.source.sum(dim=1)


MixingRatio = Tensor | float


def encoder_decoder_rollout(
    encoder_rollout: Tensor,
    self_attention: Sequence[Tensor],
    cross_attention: Sequence[Tensor],
    mixing_ratios: Sequence[tuple[MixingRatio, MixingRatio]] | None = None,
) -> DecoderRollout:
    """Rollout of a decoder whose cross-attention (T, S) continues the encoder's rollout (S, S).

    `mixing_ratios` has the ratios of self- and cross-attention for each layer. With 0.5 for all, the source's share is
    1 - 2^-L for every sentence: only measured ratios are informative.
    """
    target_length, source_length = cross_attention[0].shape
    ratios = [(0.5, 0.5)] * len(cross_attention) if mixing_ratios is None else mixing_ratios
    source = cross_attention[0].new_zeros(target_length, source_length)
    target = torch.eye(target_length, dtype=source.dtype, device=source.device)
    for self_weights, cross_weights, (self_ratio, cross_ratio) in zip(
        self_attention, cross_attention, ratios, strict=True
    ):
        self_step = (add_residual if mixing_ratios is None else add_measured_residual)(self_weights, self_ratio)
        ratio = torch.as_tensor(cross_ratio, dtype=source.dtype, device=source.device).expand(target_length)[:, None]
        source, target = self_step @ source, self_step @ target
        source, target = (1 - ratio) * source + ratio * (cross_weights @ encoder_rollout), (1 - ratio) * target
    return DecoderRollout(source, target)


def mean_total_variation(rows: Tensor) -> float:
    """The mean total variation distance of two rows (T, S): 0 all equal, 1 disjoint.

    Depth alone makes rows similar, with any weights: compare it with that of permuted weights.
    """
    shares = rows / rows.sum(dim=1, keepdim=True).clamp(min=EPSILON)
    count = len(rows)
    return float(torch.cdist(shares, shares, p=1).sum()) / 2 / max(1, count * (count - 1))


def attention_flow(layers: Sequence[Tensor]) -> Tensor | None:
    """The maximal flow from each final state to each token, with capacities Â.  Abnar and Zuidema 2020, section 4.2.

    None above MAX_FLOW_TOKENS. At least the rollout, at most 1.
    """
    n = len(layers[0])
    if n > MAX_FLOW_TOKENS:
        return None
    graph = _layered_graph([add_residual(weights).double().cpu().numpy() for weights in layers])
    top = len(layers) * n
    return torch.tensor(max_flows(graph, range(top, top + n), range(n)), dtype=layers[0].dtype)


def encoder_decoder_flow(
    encoder: Sequence[Tensor], self_attention: Sequence[Tensor], cross_attention: Sequence[Tensor]
) -> Tensor | None:
    """The maximal flow from each final state of the decoder to each source token."""
    target_length, source_length = cross_attention[0].shape
    if max(target_length, source_length) > MAX_FLOW_TOKENS:
        return None
    encoder_steps = [add_residual(weights).double().cpu().numpy() for weights in encoder]
    graph = _layered_graph(encoder_steps, extra_nodes=target_length * (2 * len(self_attention) + 1))
    start, top = source_length * (len(encoder_steps) + 1), source_length * len(encoder_steps)
    for layer, (self_weights, cross_weights) in enumerate(zip(self_attention, cross_attention, strict=True)):
        a, b, c = (start + target_length * (2 * layer + n) for n in range(3))
        graph[b : b + target_length, a : a + target_length] = add_residual(self_weights).double().cpu().numpy()
        graph[c : c + target_length, b : b + target_length] = 0.5 * np.eye(target_length)
        graph[c : c + target_length, top : top + source_length] = 0.5 * cross_weights.double().cpu().numpy()
    last = start + target_length * 2 * len(self_attention)
    return torch.tensor(
        max_flows(graph, range(last, last + target_length), range(source_length)), dtype=cross_attention[0].dtype
    )


def _layered_graph(steps: Sequence[Capacity], extra_nodes: int = 0) -> Capacity:
    """Capacities between nodes: token i of layer l is node l·n + i, edges go down one layer."""
    n = len(steps[0])
    graph = np.zeros((n * (len(steps) + 1) + extra_nodes,) * 2)
    for layer, matrix in enumerate(steps):
        graph[n * (layer + 1) : n * (layer + 2), n * layer : n * (layer + 1)] = matrix
    return graph


def max_flows(capacity: Capacity, sources: Iterable[int], sinks: Iterable[int]) -> list[list[float]]:
    """The maximal flow from each source to each sink by Dinic's algorithm, with a resolution of 2^-30."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    graph = csr_array(np.rint(capacity * CAPACITY_SCALE).astype(np.int32))
    sink_nodes = list(sinks)
    return [
        [maximum_flow(graph, source, sink).flow_value / CAPACITY_SCALE for sink in sink_nodes] for source in sources
    ]


def receptive_fields(layers: Sequence[Tensor]) -> list[frozenset[int]]:
    """The tokens that each final state depends on if every head attends to its best key alone.

    R(i) = R'(i) ∪ R'(argmax_j A_ij) over heads: at most (heads + 1)^layers tokens. `layers` are weights (H, T, T).
    """
    fields = [frozenset({i}) for i in range(layers[0].shape[-1])]
    for weights in layers:
        best = weights.argmax(dim=-1).T.tolist()  # (T, H)
        fields = [fields[i].union(*(fields[j] for j in row)) for i, row in enumerate(best)]
    return fields
