"""Batches of texts and their labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.tasks.classify.labels import LabelSet
from regard.tasks.text_batch import TextBatch, pad_rows


@dataclass(frozen=True)
class ClassifyCollator:
    """Batches of texts: rows of complete ids, and of the numbers of their labels.

    With subword regularization, texts are in segmentations that are sampled again in every epoch.
    """

    tokenizer: TextTokenizer
    labels: LabelSet
    token_types: bool = False
    """Whether the model tells two texts apart by token types."""
    subword_regularization: float = 0.0
    """Probability that a token is split; drawn again in every epoch."""
    max_length: int = 0
    """Longest text, in tokens: a longer segmentation is not taken."""

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> TextBatch:
        if self.subword_regularization:
            sources = self._sample_segmentation(sources, seed)
        ids = pad_rows(sources, self.tokenizer.pad_id)
        types = pad_rows([*map(self.tokenizer.token_type_ids, sources)], 0) if self.token_types else None
        return TextBatch(ids, self.labels.stack_targets(targets), len(sources), types)

    def _sample_segmentation(self, rows: list[list[int]], seed: Sequence[int]) -> list[list[int]]:
        (state,) = np.random.SeedSequence(list(seed)).generate_state(1).tolist()
        sampled = self.tokenizer.sample_segmentation(rows, self.subword_regularization, state)
        return [new if len(new) <= self.max_length else row for new, row in zip(sampled, rows, strict=True)]
