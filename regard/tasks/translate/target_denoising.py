"""Denoising of the target side beside translation: some sources are replaced by their targets, with hidden spans.

So the decoder also learns the language that it writes, as in BART (Lewis et al. 2020), from the same pairs. Rows and
spans are drawn from (seed, epoch, batch); a mask stands for any number of words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.batch import Collator
from regard.data.store import Array
from regard.tasks.denoise.noise import TextTarget
from regard.tasks.denoise.spans import TextInfilling

NOISE = 1
"""Tells the draws of this noise from those of others of the same batch."""


@dataclass(frozen=True)
class TargetDenoising:
    """A collator of pairs, a share of which has the noisy target as source."""

    collator: Collator
    share: float
    mask: int
    starts_word: Array
    """Of each token of the vocabulary: whether it begins a word."""
    num_tags: int = 0
    """Tokens at the start of a source that name the language to write."""

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> Any:
        rng = np.random.default_rng([*seed, NOISE])
        is_chosen = rng.random(len(sources)) < self.share
        rows = [
            [*source[: self.num_tags], *self._corrupt(target, rng)] if chosen else source
            for source, target, chosen in zip(sources, targets, is_chosen, strict=True)
        ]
        return self.collator(rows, targets, seed)

    def _corrupt(self, ids: list[int], rng: np.random.Generator) -> list[int]:
        spans = TextInfilling().draw(self.starts_word[ids], rng)
        return TextTarget(self.mask).hide(ids, spans).source
