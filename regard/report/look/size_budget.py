"""The size budget of a look page: coarser grids first, then fewer keys per row, then fewer measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from regard.report.look.quantized import (
    MAX_SUBDIVISIONS,
    LayerArrays,
    QuantizedArrays,
    mean_over_queries,
    quantize_arrays,
    top_key_mask,
)

QUALITY_LADDER = ((MAX_SUBDIVISIONS, 0), (17, 0), (5, 0), (1, 0), (1, 64), (1, 32), (1, 16), (1, 8), (1, 4))
"""Subdivisions of the grid and keys per row (0: all), best first. Every step is exact to three decimals."""
COLOR_SCALE_QUANTILE = 0.998  # of the cells lie inside the color scale
TOP_KEYS_NOTE = "To stay small this page keeps only {} keys of each row, the largest by {}, for: {}."


@dataclass(frozen=True)
class ColorScale:
    """The upper limit of a color scale, and whether some values exceed it."""

    top: float
    clipped: bool


@dataclass(frozen=True)
class Measure:
    """A number for every pair of tokens, by kind and layer."""

    name: str
    label: str
    description: str
    kinds: Mapping[str, LayerArrays]
    limitation: str = ""
    """What the measure does not show."""
    normalized: bool = False
    """Rows sum to 1."""
    averaged: bool = False
    """The value of a word is the mean over its tokens, not the sum over keys."""
    signed: bool = False
    shared: bool = False
    """The same for all heads."""
    own_top_keys: bool = False
    """Where keys are dropped, it keeps its own largest ones, not those of the weights."""
    group: str = ""
    """The measure that it is a part of, whose color scale it shares."""


@dataclass(frozen=True)
class QuantizedKind:
    """The arrays of a measure in one kind of attention."""

    arrays: QuantizedArrays
    means: QuantizedArrays | None = None
    """The mean of each key over all queries, from before keys were dropped; None where all are kept."""

    @property
    def size(self) -> int:
        return self.arrays.size + (self.means.size if self.means else 0)


@dataclass(frozen=True)
class QuantizedMeasure:
    """A measure as finely as its share of the budget allows."""

    measure: Measure
    kinds: Mapping[str, QuantizedKind]
    max_keys: int
    """Keys kept of each row; 0: all."""
    scale: ColorScale

    @property
    def size(self) -> int:
        return sum(kind.size for kind in self.kinds.values())

    def shape(self, kind: str) -> tuple[int, int]:
        """Rows and columns of a matrix."""
        rows, columns = self.measure.kinds[kind][0].shape[-2:]
        return rows, columns

    def top_k(self, kind: str) -> int:
        """Keys kept of each row in a kind; 0: all of them."""
        return self.max_keys if self.max_keys < self.shape(kind)[1] else 0

    def describe_precision(self, kind: str) -> str:
        """How exact the numbers are, and which keys were kept."""
        arrays, top_k = self.kinds[kind].arrays, self.top_k(kind)
        precision = f"Displayed with {arrays.decimals} decimals, stored within ±{arrays.max_error:.1g}."
        if not top_k:
            return precision
        ranking = _ranking_name(self.measure)
        return f"{precision} To stay small the page keeps {top_k} keys of each row, the largest by {ranking}."


def quantize_measures(measures: Sequence[Measure], budget: int) -> tuple[list[QuantizedMeasure], list[str]]:
    """Each measure as finely as its share of the budget allows, and sentences about what had to be left out.

    Measures of one group are kept or dropped together: terms that add up are useless if one is missing.
    """
    scales = {measure.name: _color_scale(measure) for measure in measures}
    weights = measures[0].kinds
    groups = [
        list(group)
        for _, group in groupby(measures, key=lambda measure: (measure.group, measure.group or measure.name))
    ]
    quantized: list[QuantizedMeasure] = []
    notes, omitted, size = [], [], 0
    for number, group in enumerate(groups):
        available = (budget - size) * max(0.5, 1 / (len(groups) - number))
        fit = _quantize_to_fit(group, weights, available)
        if fit is None:
            omitted += [measure.label for measure in group]
            continue
        arrays_by_measure, top_k = fit
        notes += [TOP_KEYS_NOTE.format(top_k, _ranking_name(measure), measure.label) for measure in group if top_k]
        for measure, kinds in zip(group, arrays_by_measure, strict=True):
            entry = QuantizedMeasure(measure, kinds, top_k, scales.get(measure.group, scales[measure.name]))
            quantized.append(entry)
            size += entry.size
    if omitted:
        notes.append(f"Left out, because the page would be too large: {', '.join(omitted)}.")
    return quantized, notes


def _quantize_to_fit(
    group: Sequence[Measure], weights: Mapping[str, LayerArrays], available: float
) -> tuple[list[dict[str, QuantizedKind]], int] | None:
    """The best step of the ladder that fits; the size is first estimated from one layer of each kind."""
    measure_kinds = [(measure, kind) for measure in group for kind in measure.kinds]
    for max_subdivisions, top_k in QUALITY_LADDER:
        estimate = sum(
            _estimate_size(measure, kind, weights.get(kind), max_subdivisions, top_k) for measure, kind in measure_kinds
        )
        if estimate > available:
            continue
        quantized = [
            {kind: _quantize_kind(m, kind, weights.get(kind), max_subdivisions, top_k) for kind in m.kinds}
            for m in group
        ]
        if sum(quantized_kind.size for kinds in quantized for quantized_kind in kinds.values()) <= available:
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
) -> QuantizedKind:
    layers = measure.kinds[kind]
    if not top_k or top_k >= layers[0].shape[-1]:
        return QuantizedKind(quantize_arrays(layers, max_subdivisions))
    ranking = layers if measure.shared or measure.own_top_keys or weights is None else weights
    top_keys = [np.where(top_key_mask(w, top_k), layer, np.nan) for layer, w in zip(layers, ranking, strict=True)]
    means = [mean_over_queries(layer) for layer in layers]
    return QuantizedKind(quantize_arrays(top_keys, max_subdivisions), quantize_arrays(means, max_subdivisions))


def _ranking_name(measure: Measure) -> str:
    return "their own magnitude" if measure.own_top_keys or measure.shared else "weight"


def _color_scale(measure: Measure) -> ColorScale:
    """0 to 1 for shares; else up to a round number above all but a few cells, so that outliers do not pale the rest."""
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
