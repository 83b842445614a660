"""What a page of numbers may weigh, and what is left out first when it would weigh more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from regard.report.look.quantized import MAX_SUBDIVISIONS, Array, QuantizedArrays, quantize_arrays, top_key_mask

LayerArrays = Sequence[Array]  # (H, Tq, Tk) each; H may differ

# How fine the grid is and how many keys a row keeps, the best first. Every line is right to three decimals.
QUALITY_LADDER = ((MAX_SUBDIVISIONS, 0), (17, 0), (5, 0), (1, 0), (1, 64), (1, 32), (1, 16), (1, 8), (1, 4))


COLOR_SCALE_QUANTILE = 0.998  # of the cells lie inside the scale of colours
TOP_KEYS_NOTE = "To stay small this page keeps only {} keys of each row, the largest by {}, for: {}."


@dataclass(frozen=True)
class ColorScale:
    """Where colours end, and whether some numbers lie beyond."""

    top: float
    clipped: bool


@dataclass(frozen=True)
class Measure:
    """A number for every pair of tokens, by kind and layer."""

    name: str
    label: str
    description: str
    kinds: Mapping[str, LayerArrays]
    normalized: bool = False  # rows sum to 1
    averaged: bool = False  # a word's number is the mean of its pieces', not the sum over keys
    signed: bool = False
    shared: bool = False  # the same for all heads
    own_top_keys: bool = False  # where room is short it keeps its own largest keys, not those of the weights
    group: str = ""  # the measure that it is a part of, whose scale of colours it shares


@dataclass
class BlobStore:
    """Packed texts by number, as elements that no browser tries to run."""

    texts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, quantized: QuantizedArrays) -> dict[str, Any]:
        start = len(self.texts)
        self.texts += quantized.blobs
        self.size += quantized.size
        names = [f"n{start + i}" for i in range(len(quantized.blobs))]
        return {
            "blobs": names,
            "parts": quantized.steps_per_unit,
            "lowest": quantized.offset,
            "decimals": quantized.decimals,
            "width": quantized.code_bytes,
        }

    def html(self) -> str:
        return "\n".join(f'<script type="text/plain" id="n{i}">{text}</script>' for i, text in enumerate(self.texts))


def quantize_measures(
    measures: Sequence[Measure], blobs: BlobStore, budget: int
) -> tuple[list[dict[str, Any]], list[str]]:
    """Each measure as finely as its part of the budget allows; what had to be left out is told in sentences.

    Measures of one group stay together, or go together: terms that add up are worth nothing when one is missing.
    """
    scales = {measure.name: _color_scale(measure) for measure in measures}
    weights = measures[0].kinds
    groups = [
        list(group)
        for _, group in groupby(measures, key=lambda measure: (measure.group, measure.group or measure.name))
    ]
    entries, notes, omitted = [], [], []
    for number, group in enumerate(groups):
        available = (budget - blobs.size) * max(0.5, 1 / (len(groups) - number))
        fit = _quantize_to_fit(group, weights, available)
        if fit is None:
            omitted += [measure.label for measure in group]
            continue
        quantized, top_k = fit
        notes += [TOP_KEYS_NOTE.format(top_k, _ranking_name(measure), measure.label) for measure in group if top_k]
        for measure, kinds in zip(group, quantized, strict=True):
            scale = scales.get(measure.group, scales[measure.name])
            entries.append(_measure_entry(measure, kinds, top_k, scale, blobs))
    if omitted:
        notes.append(f"Left out, because the page would be too large: {', '.join(omitted)}.")
    return entries, notes


def _quantize_to_fit(
    group: Sequence[Measure], weights: Mapping[str, LayerArrays], available: float
) -> tuple[list[dict[str, QuantizedArrays]], int] | None:
    """The best rung of the ladder that has room; one layer of each kind tells beforehand which are hopeless."""
    measure_kinds = [(measure, kind) for measure in group for kind in measure.kinds]
    for max_subdivisions, top_k in QUALITY_LADDER:
        if (
            sum(
                _estimate_size(measure, kind, weights.get(kind), max_subdivisions, top_k)
                for measure, kind in measure_kinds
            )
            > available
        ):
            continue
        quantized = [
            {kind: _quantize_kind(m, kind, weights.get(kind), max_subdivisions, top_k) for kind in m.kinds}
            for m in group
        ]
        if sum(arrays.size for kinds in quantized for arrays in kinds.values()) <= available:
            return quantized, top_k
    return None


def _estimate_size(
    measure: Measure, kind: str, weights: LayerArrays | None, max_subdivisions: int, top_k: int
) -> float:
    layers = measure.kinds[kind]
    middle = slice(len(layers) // 2, len(layers) // 2 + 1)
    sample = replace(measure, kinds={kind: layers[middle]})
    return 0.8 * len(layers) * _quantize_kind(sample, kind, weights and weights[middle], max_subdivisions, top_k).size


def _quantize_kind(
    measure: Measure, kind: str, weights: LayerArrays | None, max_subdivisions: int, top_k: int
) -> QuantizedArrays:
    layers = measure.kinds[kind]
    if not top_k:
        return quantize_arrays(layers, max_subdivisions)
    ranking = layers if measure.shared or measure.own_top_keys or weights is None else weights
    return quantize_arrays(
        [np.where(top_key_mask(w, top_k), layer, np.nan) for layer, w in zip(layers, ranking, strict=True)],
        max_subdivisions,
    )


def _measure_entry(
    measure: Measure, quantized: Mapping[str, QuantizedArrays], top_k: int, scale: ColorScale, blobs: BlobStore
) -> dict[str, Any]:
    kinds = {}
    for kind, arrays in quantized.items():
        columns = measure.kinds[kind][0].shape[-1]
        kept_keys = top_k if top_k and top_k < columns else 0
        kinds[kind] = blobs.add(arrays) | {
            "sizes": list(measure.kinds[kind][0].shape[-2:]),
            "shared": measure.shared,
            "kept": kept_keys,
            "told": _precision_note(measure, arrays, kept_keys),
        }
    return {
        "name": measure.name,
        "label": measure.label,
        "help": measure.description,
        "signed": measure.signed,
        "top": scale.top,
        "clipped": scale.clipped,
        "keys": "mean" if measure.averaged else "sum",
        "total": measure.normalized,
        "menu": True,
        "kinds": kinds,
    }


def _precision_note(measure: Measure, quantized: QuantizedArrays, top_k: int) -> str:
    precision = f"Shown to {quantized.decimals} decimals, kept within ±{quantized.max_error:.1g}."
    ranking = _ranking_name(measure)
    return (
        f"{precision} To stay small the page keeps {top_k} keys of each row, the largest by {ranking}."
        if top_k
        else precision
    )


def _ranking_name(measure: Measure) -> str:
    return "their own size" if measure.own_top_keys or measure.shared else "weight"


def _color_scale(measure: Measure) -> ColorScale:
    """0 to 1 for shares; else to a round number that all but a few cells stay below, so that those few do not pale
    the rest."""
    if measure.normalized:
        return ColorScale(1.0, False)
    arrays = [np.abs(layer[np.isfinite(layer)]) for layers in measure.kinds.values() for layer in layers]
    numbers = np.concatenate(arrays) if arrays else np.zeros(0)
    if not numbers.size or not numbers.max():
        return ColorScale(1.0, False)
    top = _round_above(float(np.quantile(numbers, COLOR_SCALE_QUANTILE)) or float(numbers.max()))
    return ColorScale(top, bool(numbers.max() > top))


def _round_above(value: float) -> float:
    power = 10.0 ** np.floor(np.log10(value))
    step = next(step for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-9))
    return float(f"{step * power:.3g}")
