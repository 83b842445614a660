"""Batches of texts and their labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.tasks.classify.labels import LabelSet
from regard.tasks.text_batch import TextBatch, pad_rows


@dataclass(frozen=True)
class ClassifyCollator:
    """Batches of texts: rows of complete ids, and of the numbers of their labels."""

    tokenizer: TextTokenizer
    labels: LabelSet
    token_types: bool = False
    """Whether the model tells two texts apart by token types."""

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> TextBatch:
        ids = pad_rows(sources, self.tokenizer.pad_id)
        types = pad_rows([*map(self.tokenizer.token_type_ids, sources)], 0) if self.token_types else None
        return TextBatch(ids, self.labels.stack_targets(targets), len(sources), types)
