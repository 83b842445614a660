"""The loss of a model that knows how frequent each piece is and nothing else: whoever learns must get below it."""

import numpy as np

from regard.data.store import Array, Ragged
from regard.data.tokenizer import EOS

ENOUGH = 5_000_000  # pieces that say how frequent each is
CHUNK = 1 << 17


def unigram_loss(train: Ragged, dev: Ragged, size: int) -> float:
    """Nats per piece of dev, end marks included, under the frequencies of train (each counted once more)."""
    frequency = _counts(train, size) + 1.0
    seen = _counts(dev, size)
    return float(-(seen * np.log(frequency / frequency.sum())).sum() / max(1.0, seen.sum()))


def _counts(ids: Ragged, size: int) -> Array:
    counts, last = np.zeros(size), min(ENOUGH, len(ids.values))
    for start in range(0, last, CHUNK):  # bincount copies what it counts into eight bytes each
        counts += np.bincount(ids.values[start : min(start + CHUNK, last)], minlength=size)
    ends = np.searchsorted(ids.starts, last, side="right") - 1
    counts[EOS] += float(ends)
    return counts
