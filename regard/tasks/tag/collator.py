"""Batches of sentences and the tags of their words."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.tokenizers.text_tokenizer import TextTokenizer
from regard.tasks.text_batch import IGNORED, TokenLabelBatch, pad_rows


@dataclass(frozen=True)
class TagCollator:
    """Batches of sentences: rows of complete ids, and of targets that are 0, or 1 + the number of a tag."""

    tokenizer: TextTokenizer

    def __call__(self, sources: list[list[int]], targets: list[list[int]], seed: Sequence[int]) -> TokenLabelBatch:
        labels = pad_rows(targets, 0) - 1
        return TokenLabelBatch.of(pad_rows(sources, self.tokenizer.pad_id), labels.masked_fill(labels < 0, IGNORED))
