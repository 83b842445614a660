"""What a page of numbers may weigh, and what is left out first when it would weigh more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from regard.report.look.quantized import FINEST, Array, Packed, pack, top_keys

Layers = Sequence[Array]  # (H, Tq, Tk) each; H may differ

# How fine the grid is and how many keys a row keeps, the best first. Every line is right to three decimals.
LADDER = ((FINEST, 0), (17, 0), (5, 0), (1, 0), (1, 64), (1, 32), (1, 16), (1, 8), (1, 4))


MOST = 0.998  # of the cells lie inside the scale of colours
KEPT = "To stay small this page keeps only {} keys of each row, the largest by {}, for: {}."


@dataclass(frozen=True)
class Scale:
    """Where colours end, and whether some numbers lie beyond."""

    top: float
    clipped: bool


@dataclass(frozen=True)
class Measure:
    """A number for every pair of tokens, by kind and layer."""

    name: str
    label: str
    told: str
    kinds: Mapping[str, Layers]
    total: bool = False  # rows sum to 1
    averaged: bool = False  # a word's number is the mean of its pieces', not the sum over keys
    signed: bool = False
    shared: bool = False  # the same for all heads
    own: bool = False  # where room is short it keeps its own largest keys, not those of the weights
    group: str = ""  # the measure that it is a part of, whose scale of colours it shares


@dataclass
class Blobs:
    """Packed texts by number, as elements that no browser tries to run."""

    texts: list[str] = field(default_factory=list)
    size: int = 0

    def keep(self, packed: Packed) -> dict[str, Any]:
        start = len(self.texts)
        self.texts += packed.blobs
        self.size += packed.size
        names = [f"n{start + i}" for i in range(len(packed.blobs))]
        return {
            "blobs": names,
            "parts": packed.parts,
            "lowest": packed.lowest,
            "decimals": packed.decimals,
            "width": packed.width,
        }

    def html(self) -> str:
        return "\n".join(f'<script type="text/plain" id="n{i}">{text}</script>' for i, text in enumerate(self.texts))


def packed_measures(measures: Sequence[Measure], blobs: Blobs, budget: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Each measure as finely as its part of the budget allows; what had to be left out is told in sentences.

    Measures of one group stay together, or go together: terms that add up are worth nothing when one is missing.
    """
    scales = {measure.name: _scale(measure) for measure in measures}
    weights = measures[0].kinds
    groups = [
        list(group)
        for _, group in groupby(measures, key=lambda measure: (measure.group, measure.group or measure.name))
    ]
    written, notes, left_out = [], [], []
    for number, group in enumerate(groups):
        room = (budget - blobs.size) * max(0.5, 1 / (len(groups) - number))
        found = _fitting(group, weights, room)
        if found is None:
            left_out += [measure.label for measure in group]
            continue
        packed, keep = found
        notes += [KEPT.format(keep, _largest(measure), measure.label) for measure in group if keep]
        for measure, kinds in zip(group, packed, strict=True):
            scale = scales.get(measure.group, scales[measure.name])
            written.append(_written(measure, kinds, keep, scale, blobs))
    if left_out:
        notes.append(f"Left out, because the page would be too large: {', '.join(left_out)}.")
    return written, notes


def _fitting(
    group: Sequence[Measure], weights: Mapping[str, Layers], room: float
) -> tuple[list[dict[str, Packed]], int] | None:
    """The best rung of the ladder that has room; one layer of each kind tells beforehand which are hopeless."""
    every = [(measure, kind) for measure in group for kind in measure.kinds]
    for finest, keep in LADDER:
        if sum(_guess(measure, kind, weights.get(kind), finest, keep) for measure, kind in every) > room:
            continue
        packed = [{kind: _packed(m, kind, weights.get(kind), finest, keep) for kind in m.kinds} for m in group]
        if sum(each.size for kinds in packed for each in kinds.values()) <= room:
            return packed, keep
    return None


def _guess(measure: Measure, kind: str, weights: Layers | None, finest: int, keep: int) -> float:
    layers = measure.kinds[kind]
    middle = slice(len(layers) // 2, len(layers) // 2 + 1)
    sample = replace(measure, kinds={kind: layers[middle]})
    return 0.8 * len(layers) * _packed(sample, kind, weights and weights[middle], finest, keep).size


def _packed(measure: Measure, kind: str, weights: Layers | None, finest: int, keep: int) -> Packed:
    layers = measure.kinds[kind]
    if not keep:
        return pack(layers, finest)
    by = layers if measure.shared or measure.own or weights is None else weights
    return pack([np.where(top_keys(w, keep), layer, np.nan) for layer, w in zip(layers, by, strict=True)], finest)


def _written(measure: Measure, packed: Mapping[str, Packed], keep: int, scale: Scale, blobs: Blobs) -> dict[str, Any]:
    kinds = {}
    for kind, each in packed.items():
        columns = measure.kinds[kind][0].shape[-1]
        thin = keep if keep and keep < columns else 0
        kinds[kind] = blobs.keep(each) | {
            "sizes": list(measure.kinds[kind][0].shape[-2:]),
            "shared": measure.shared,
            "kept": thin,
            "told": _told(measure, each, thin),
        }
    return {
        "name": measure.name,
        "label": measure.label,
        "help": measure.told,
        "signed": measure.signed,
        "top": scale.top,
        "clipped": scale.clipped,
        "keys": "mean" if measure.averaged else "sum",
        "total": measure.total,
        "menu": True,
        "kinds": kinds,
    }


def _told(measure: Measure, packed: Packed, keep: int) -> str:
    exact = f"Shown to {packed.decimals} decimals, kept within ±{packed.error:.1g}."
    by = _largest(measure)
    return f"{exact} To stay small the page keeps {keep} keys of each row, the largest by {by}." if keep else exact


def _largest(measure: Measure) -> str:
    return "their own size" if measure.own or measure.shared else "weight"


def _scale(measure: Measure) -> Scale:
    """0 to 1 for shares; else to a round number that all but a few cells stay below, so that those few do not pale
    the rest."""
    if measure.total:
        return Scale(1.0, False)
    arrays = [np.abs(layer[np.isfinite(layer)]) for layers in measure.kinds.values() for layer in layers]
    numbers = np.concatenate(arrays) if arrays else np.zeros(0)
    if not numbers.size or not numbers.max():
        return Scale(1.0, False)
    top = _round_above(float(np.quantile(numbers, MOST)) or float(numbers.max()))
    return Scale(top, bool(numbers.max() > top))


def _round_above(value: float) -> float:
    power = 10.0 ** np.floor(np.log10(value))
    step = next(step for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= value * (1 - 1e-9))
    return float(f"{step * power:.3g}")
