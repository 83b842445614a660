"""Numbers as text inside a page: small, and right to the decimals that are shown.

A number is kept as a point of the grid n / parts with parts = 10^decimals · k and k = 1 (mod 4). Because k is odd, a
number and its grid point round to the same decimals; because k = 1 (mod 4), even a tie (1/16 = 0.0625) falls to the
same side as it does in Python. What is finer than the decimals is kept too, as far as two bytes go: sums of pieces
stay right. A range too wide for two bytes gets a third.
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

FINEST = 65  # k where there is room: weights then lie within 1/130,000 of the truth
DECIMALS = 3


@dataclass(frozen=True)
class Packed:
    """Arrays as texts: base64 of deflated codes, all low bytes before all higher ones; all on one grid.

    The largest code of all is kept for cells without a number: masked, or left out.
    """

    blobs: tuple[str, ...]
    parts: int
    lowest: int
    decimals: int
    width: int  # bytes of a code

    @property
    def size(self) -> int:
        return sum(map(len, self.blobs))

    @property
    def error(self) -> float:
        """How far a kept number may be from the true one."""
        return 0.5 / self.parts


def pack(arrays: Sequence[Array], finest: int = FINEST) -> Packed:
    """The arrays on the finest grid that two bytes hold, `finest` at most; NaN and ±∞ become missing."""
    real = [np.isfinite(array) for array in arrays]
    numbers = np.concatenate([np.asarray(array[mask], np.float64) for array, mask in zip(arrays, real, strict=True)])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    decimals, k, width = _grid(low, high, finest)
    parts = 10**decimals * k
    lowest = math.floor(low * parts)
    texts = []
    for array, mask in zip(arrays, real, strict=True):
        codes = np.full(array.shape, 256**width - 1, dtype=np.uint32)
        codes[mask] = (np.rint(np.asarray(array[mask], np.float64) * parts) - lowest).astype(np.uint32)
        texts.append(_text(codes, width))
    return Packed(tuple(texts), parts, lowest, decimals, width)


def unpack(packed: Packed) -> list[Array]:
    """What the page will see: every array flat."""
    found = []
    for blob in packed.blobs:
        planes = np.frombuffer(zlib.decompress(base64.b64decode(blob)), dtype=np.uint8).reshape(packed.width, -1)
        codes = sum(plane.astype(np.int64) << (8 * n) for n, plane in enumerate(planes))
        found.append(np.where(codes == 256**packed.width - 1, np.nan, (codes + packed.lowest) / packed.parts))
    return found


def top_keys(weights: Array, keep: int) -> NDArray[np.bool_]:
    """For numbers (…, Tq, Tk), which keys are among the `keep` largest of their row, whatever their sign."""
    if keep >= weights.shape[-1]:
        return np.ones(weights.shape, dtype=bool)
    chosen = np.argpartition(-np.nan_to_num(np.abs(weights)), keep - 1, axis=-1)[..., :keep]
    mask = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(mask, chosen, True, axis=-1)
    return mask


def _grid(low: float, high: float, finest: int) -> tuple[int, int, int]:
    """Decimals, k and bytes of a code: three decimals, then as fine as two bytes allow; three bytes where they must."""
    decimals = DECIMALS
    while decimals > 0 and _codes(low, high, 10**decimals) >= 256**3:
        decimals -= 1
    k = finest
    while k > 1 and _codes(low, high, 10**decimals * k) >= 256**2:
        k -= 4
    return decimals, k, 2 if _codes(low, high, 10**decimals * k) < 256**2 else 3


def _codes(low: float, high: float, parts: int) -> int:
    return math.ceil(high * parts) - math.floor(low * parts) + 1


def _text(codes: NDArray[np.uint32], width: int) -> str:
    """Byte planes squeeze better than whole codes: high bytes of small weights are all alike."""
    flat = codes.ravel()
    planes = np.concatenate([(flat >> (8 * n)) & 255 for n in range(width)]).astype(np.uint8)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")
