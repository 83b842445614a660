"""Quantized arrays as text inside a page: small, and exact to the decimals that are displayed.

A number is stored as a point of the grid n / steps_per_unit with steps_per_unit = 10^decimals · k and k = 1 (mod 4).
Because k is odd, a number and its grid point round to the same decimals; because k = 1 (mod 4), even a tie
(1/16 = 0.0625) rounds to the same side as in Python. The grid is as fine as two bytes allow, so that sums over tokens
stay exact too. A range too wide for two bytes gets a third.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
LayerArrays = Sequence[Array]
"""One array per layer, (H, Tq, Tk) unless said otherwise; H may differ."""

MAX_SUBDIVISIONS = 65  # the finest k: weights are then within 1/130,000 of the original
DECIMALS = 3


@dataclass(frozen=True)
class QuantizedArrays:
    """Arrays as text: base64 of deflated codes, all low bytes before all high bytes; all on one grid.

    The largest code is reserved for cells without a number: masked, or left out.
    """

    blobs: tuple[str, ...]
    steps_per_unit: int
    offset: int
    decimals: int
    code_bytes: int

    @property
    def size(self) -> int:
        return sum(map(len, self.blobs))

    @property
    def max_error(self) -> float:
        """The largest difference between a stored number and the original."""
        return 0.5 / self.steps_per_unit


def quantize_arrays(arrays: Sequence[Array], max_subdivisions: int = MAX_SUBDIVISIONS) -> QuantizedArrays:
    """The arrays on the finest grid that two bytes hold, k ≤ `max_subdivisions`; NaN and ±∞ become missing."""
    finite = [np.isfinite(array) for array in arrays]
    numbers = np.concatenate([np.asarray(array[mask], np.float64) for array, mask in zip(arrays, finite, strict=True)])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    decimals, k, code_bytes = _choose_grid(low, high, max_subdivisions)
    steps_per_unit = 10**decimals * k
    offset = math.floor(low * steps_per_unit)
    blobs = []
    for array, mask in zip(arrays, finite, strict=True):
        codes = np.full(array.shape, 256**code_bytes - 1, dtype=np.uint32)
        codes[mask] = (np.rint(np.asarray(array[mask], np.float64) * steps_per_unit) - offset).astype(np.uint32)
        blobs.append(_encode_codes(codes, code_bytes))
    return QuantizedArrays(tuple(blobs), steps_per_unit, offset, decimals, code_bytes)


def top_key_mask(weights: Array, top_k: int) -> NDArray[np.bool_]:
    """(…, Tq, Tk) -> which keys are among the `top_k` largest of their row by magnitude."""
    if top_k >= weights.shape[-1]:
        return np.ones(weights.shape, dtype=bool)
    indices = np.argpartition(-np.nan_to_num(np.abs(weights)), top_k - 1, axis=-1)[..., :top_k]
    mask = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(mask, indices, True, axis=-1)
    return mask


def mean_over_queries(values: Array) -> Array:
    """(…, Tq, Tk) -> (…, Tk): the mean of each key over the queries that have a number there; NaN where none has."""
    finite = np.isfinite(values)
    sums, counts = np.where(finite, values, 0.0).sum(axis=-2), finite.sum(axis=-2)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _choose_grid(low: float, high: float, max_subdivisions: int) -> tuple[int, int, int]:
    """Decimals, k and bytes per code: three decimals, then as fine as two bytes allow; three bytes where necessary."""
    decimals = DECIMALS
    while decimals > 0 and _num_codes(low, high, 10**decimals) >= 256**3:
        decimals -= 1
    k = max_subdivisions
    while k > 1 and _num_codes(low, high, 10**decimals * k) >= 256**2:
        k -= 4
    return decimals, k, 2 if _num_codes(low, high, 10**decimals * k) < 256**2 else 3


def _num_codes(low: float, high: float, steps_per_unit: int) -> int:
    return math.ceil(high * steps_per_unit) - math.floor(low * steps_per_unit) + 1


def _encode_codes(codes: NDArray[np.uint32], code_bytes: int) -> str:
    """Byte planes compress better than whole codes: the high bytes of small weights are equal."""
    flat = codes.ravel()
    planes = np.concatenate([(flat >> (8 * n)) & 255 for n in range(code_bytes)]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
