"""Numbers as text inside a page: small, and right to the decimals that are shown.

A number is kept as a point of the grid n / parts with parts = 10^decimals · k and k = 1 (mod 4). Because k is odd, a
number and its grid point round to the same decimals; because k = 1 (mod 4), even a tie (1/16 = 0.0625) falls to the
same side as it does in Python. What is finer than the decimals is kept too, as far as sixteen bits go: sums of pieces
stay right.
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

MISSING = 65535  # the code of a cell without a number: masked, or not kept
FINEST = 65  # k where there is room: weights then lie within 1/130,000 of the truth
DECIMALS = 3


@dataclass(frozen=True)
class Packed:
    """Arrays as texts: base64 of deflated codes, low bytes before high bytes; all on one grid."""

    blobs: tuple[str, ...]
    parts: int
    lowest: int
    decimals: int

    @property
    def size(self) -> int:
        return sum(map(len, self.blobs))

    @property
    def error(self) -> float:
        """How far a kept number may be from the true one."""
        return 0.5 / self.parts


def pack(arrays: Sequence[Array], finest: int = FINEST) -> Packed:
    """The arrays on the finest grid that sixteen bits hold, `finest` at most; NaN and ±∞ become missing."""
    real = [np.isfinite(array) for array in arrays]
    numbers = np.concatenate([np.asarray(array[mask], np.float64) for array, mask in zip(arrays, real, strict=True)])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    decimals, k = _grid(low, high, finest)
    parts = 10**decimals * k
    lowest = math.floor(low * parts)
    texts = []
    for array, mask in zip(arrays, real, strict=True):
        codes = np.full(array.shape, MISSING, dtype=np.uint16)
        codes[mask] = (np.rint(np.asarray(array[mask], np.float64) * parts) - lowest).astype(np.uint16)
        texts.append(_text(codes))
    return Packed(tuple(texts), parts, lowest, decimals)


def unpack(packed: Packed) -> list[Array]:
    """What the page will see: every array flat."""
    found = []
    for blob in packed.blobs:
        planes = np.frombuffer(zlib.decompress(base64.b64decode(blob)), dtype=np.uint8)
        codes = planes[: planes.size // 2] + planes[planes.size // 2 :].astype(np.int64) * 256
        found.append(np.where(codes == MISSING, np.nan, (codes + packed.lowest) / packed.parts))
    return found


def top_keys(weights: Array, keep: int) -> NDArray[np.bool_]:
    """For weights (…, Tq, Tk), which keys are among the `keep` largest of their row."""
    if keep >= weights.shape[-1]:
        return np.ones(weights.shape, dtype=bool)
    chosen = np.argpartition(-weights, keep - 1, axis=-1)[..., :keep]
    mask = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(mask, chosen, True, axis=-1)
    return mask


def _grid(low: float, high: float, finest: int) -> tuple[int, int]:
    """Decimals and k: three decimals where the range allows, then as fine as codes are left for."""
    decimals = DECIMALS
    while decimals > 0 and _codes(low, high, 10**decimals) > MISSING:
        decimals -= 1
    k = finest
    while k > 1 and _codes(low, high, 10**decimals * k) > MISSING:
        k -= 4
    return decimals, max(1, k)


def _codes(low: float, high: float, parts: int) -> int:
    return math.ceil(high * parts) - math.floor(low * parts) + 1


def _text(codes: NDArray[np.uint16]) -> str:
    """Byte planes squeeze better than pairs: high bytes of small weights are all alike."""
    flat = codes.ravel()
    planes = np.concatenate([flat & 255, flat >> 8]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
