"""The measures of a look page: what each one is called, what it shows, and what it does not."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regard.errors import RegardError
from regard.report.look.data import AttentionData, FlowData, LookData
from regard.report.look.quantized import Array, LayerArrays
from regard.report.look.size_budget import Measure

TERMS_LABEL = "Terms of a score"
TERM_DESCRIPTION = "One of the terms that add up to the score."
TERM_LIMITATION = "Above the first layer it describes averages, not causes."


def collect_measures(data: LookData) -> list[Measure]:
    """The available measures, most important first: where space is short, the last are dropped first."""
    measures = [*_weight_measures(data), *_head_measures(data), *_flow_measures(data), *_term_measures(data)]
    return [measure for measure in measures if measure.kinds]


def term_names(data: LookData) -> list[str]:
    """The names of the terms of a score."""
    return list(next(iter(data.kinds.values())).terms.names)


def _head_arrays(data: LookData, name: str) -> dict[str, LayerArrays]:
    """The arrays of this name by kind, where they are known."""
    return {
        kind: _check_axes(f"{kind}.{{}}.{name}", layers)
        for kind, attention in data.kinds.items()
        if (layers := getattr(attention, name)) is not None
    }


def _weight_measures(data: LookData) -> list[Measure]:
    reference = data.reference.name if data.reference else ""
    return [
        Measure(
            "weight",
            "Attention weight",
            "How much each query attends to each key; rows sum to 1.",
            _head_arrays(data, "weights"),
            "It does not show that the output depends on the key: see Faithfulness.",
            normalized=True,
        ),
        Measure(
            "difference",
            f"Difference from {reference}",
            "Weight minus the weight in the reference model.",
            _head_arrays(data, "weight_difference"),
            "It does not show what made the model better: a head may change without effect.",
            signed=True,
            own_top_keys=True,
        ),
        Measure(
            "reference",
            f"Weight: {reference}",
            "The weights of the same heads in the reference model.",
            _head_arrays(data, "reference_weights"),
            normalized=True,
            own_top_keys=True,
        ),
    ]


def _head_measures(data: LookData) -> list[Measure]:
    return [
        Measure(
            "norm",
            "Weight × value norm",
            "The norm of the vector that a key contributes; norms do not add up.",
            _head_arrays(data, "norms"),
            "It is not a share: the contributions of several keys may cancel.",
        ),
        Measure(
            "output_share",
            "Share of the output",
            "The share of the attention output that a key contributes; below 0 it opposes the output.",
            _head_arrays(data, "output_share"),
            "A large share does not mean that the model needs the key: the output may be as good without it.",
            signed=True,
            own_top_keys=True,
        ),
        Measure(
            "score",
            "Score before softmax",
            "The logits of the weights; only differences within a row matter.",
            _head_arrays(data, "scores"),
            "It cannot be compared between rows or heads.",
            averaged=True,
            signed=True,
        ),
        Measure(
            "gradient",
            "Weight × gradient",
            "How strongly the loss reacts to the weight, without the sign.",
            _head_arrays(data, "gradient"),
            "It is a first-order approximation: it describes very small changes, and the weight is one of its factors.",
        ),
    ]


def _flow_measures(data: LookData) -> list[Measure]:
    """Measures of all layers together: all heads of a kind share one matrix."""

    def arrays(encoder: Array | None, cross: Array | None, decoder: Array | None) -> dict[str, LayerArrays]:
        by_kind = {"encoder": encoder, "cross": cross, "decoder": decoder}
        if "encoder" not in data.kinds:  # a decoder-only model reads with its decoder
            by_kind = {"decoder": encoder}
        return {kind: [matrix[None]] for kind, matrix in by_kind.items() if matrix is not None and kind in data.kinds}

    flow: FlowData = data.flow
    return [
        Measure(
            "rollout",
            "Rollout",
            "Where the content of a row comes from through all layers, averaged over heads.",
            arrays(flow.encoder, flow.source, flow.target),
            "It is not a contribution: heads are averaged, feed-forward layers ignored; deep models look similar.",
            normalized=True,
            shared=True,
        ),
        Measure(
            "above_chance",
            "Rollout above chance",
            "Rollout minus the rollout of randomly permuted weights.",
            arrays(flow.above_chance, flow.above_chance_source, flow.above_chance_target),
            "It does not measure an effect: it only subtracts what depth alone would show.",
            signed=True,
            shared=True,
        ),
        Measure(
            "flow",
            "Maximum flow",
            "The maximum that could flow through all layers.",
            arrays(flow.max_flow, flow.max_flow_source, None),
            "It is an upper bound: what could flow if no other token used the capacity.",
            shared=True,
        ),
    ]


def _term_measures(data: LookData) -> list[Measure]:
    terms = {kind: arrays for kind, attention in data.kinds.items() if (arrays := _term_arrays(kind, attention))}
    return [
        Measure(
            f"term{index}",
            f"Score: {name}",
            TERM_DESCRIPTION,
            {kind: [layer[:, index] for layer in layers] for kind, layers in terms.items()},
            TERM_LIMITATION,
            averaged=True,
            signed=True,
            group="score",
        )
        for index, name in enumerate(term_names(data))
    ]


def _term_arrays(kind: str, attention: AttentionData) -> LayerArrays:
    """The terms of a kind, NaN in layers where they are unknown; empty where no layer has them."""
    terms = attention.terms
    if all(layer is None for layer in terms.values):
        return []
    unknown = [np.full((len(w), len(terms.names), *w.shape[1:]), math.nan) for w in attention.weights]
    layers = [nan if layer is None else layer for layer, nan in zip(terms.values, unknown, strict=True)]
    return _check_axes(f"{kind}.{{}}.terms", layers, axes=4)


def _check_axes(name: str, layers: Sequence[Array], axes: int = 3) -> LayerArrays:
    for number, array in enumerate(layers):
        if array.ndim != axes:
            raise RegardError(f"{name.format(number)}: expected {axes} axes, got shape {array.shape}")
    return layers
