"""Bits of language models and of their opponents, per byte of text."""

import bz2
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from regard.metrics import Score
from regard.metrics.intervals import FloatArray, NonNegativeScale, make_score, ratio_interval

BITS_SCALE = NonNegativeScale(unit=8)
"""A byte without any model has 8 bits."""
MAX_TRAINING_BYTES = 1 << 23
"""The end of the training text: bz2 compresses blocks of 900 kB, each without those before it."""


def bits_per_byte(sums: FloatArray) -> FloatArray:
    """Σ bits / Σ bytes: (…, 2) -> (…)."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def score_bits(bits: ArrayLike, num_bytes: ArrayLike, units: str = "documents") -> Score:
    """Bits per byte with the interval over documents or other units, of which each has its bits and its bytes."""
    all_bits, sizes = np.asarray(bits, np.float64), np.asarray(num_bytes, np.float64)
    signature = f"unit:byte|bytes:{int(sizes.sum())}|{units}:{len(sizes)}"
    interval = ratio_interval(all_bits, sizes, BITS_SCALE)
    return make_score("bits per byte", float(all_bits.sum() / sizes.sum()), interval, signature, BITS_SCALE)


def score_bz2(training_texts: Sequence[str], texts: Sequence[str]) -> Score:
    """Bits per byte that bz2 needs for texts after the training texts: compress(train + text) - compress(train).

    Only for all texts together, so without an interval: what one text adds is lost in the rounding of a block.
    """
    training = "".join(training_texts).encode("utf-8", "surrogatepass")[-MAX_TRAINING_BYTES:]
    content = "".join(texts).encode("utf-8", "surrogatepass")
    bits = 8 * (len(bz2.compress(training + content)) - len(bz2.compress(training)))
    signature = f"unit:byte|bytes:{len(content)}|bz2,given:train|ci:none,one-stream"
    return Score("bits per byte", bits / len(content), None, None, signature)
