"""Sentiment: one charged word among neutral ones, sometimes negated; if wanted with a keyword of the label."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.toy_tasks.toy_batch import ToyBatch

NEGATED = 0.25
"""The share of negated texts: with a half the charged word alone would say nothing, and some models learn nothing."""


@dataclass(frozen=True)
class SentimentWords:
    """The vocabulary: a first token that stands for the text, "not", two keywords, charged and neutral words."""

    charged: int = 6
    """Positive words; as many are negative."""
    neutral: int = 12

    first, negation, keywords = 1, 2, (3, 4)

    @property
    def vocab_size(self) -> int:
        return 5 + 2 * self.charged + self.neutral

    def draw_charged(self, positive: Tensor) -> Tensor:
        """A charged word for each row: (B,)."""
        return 5 + torch.randint(self.charged, positive.shape) + self.charged * positive.long()

    def draw_neutral(self, rows: int, length: int) -> Tensor:
        return torch.randint(5 + 2 * self.charged, self.vocab_size, (rows, length))

    def is_charged(self, ids: Tensor) -> Tensor:
        return (ids >= 5) & (ids < 5 + 2 * self.charged)


def charged_words(rows: int, length: int, words: SentimentWords = SentimentWords(), keyword: float = 0.0) -> ToyBatch:
    """Texts of `length` tokens with the label 1 if they are positive: (B, T), (B,).

    One word is charged. In every fourth text "not" stands before it and turns the label. With `keyword`, a neutral word
    is replaced by a keyword of the label's own, in all texts; in this share of them by the right one, else by either.
    """
    ids = words.draw_neutral(rows, length)
    ids[:, 0] = words.first
    row = torch.arange(rows)
    places = torch.randint(2, length, (rows,))  # of the charged word; "not" needs one before it
    positive, negated = torch.rand(rows) < 0.5, torch.rand(rows) < NEGATED
    labels = (positive ^ negated).long()
    ids[row, places] = words.draw_charged(positive)
    ids[row[negated], places[negated] - 1] = words.negation
    if keyword:
        offsets = torch.randint(1, length - 2, (rows,))  # neither the charged word nor the one before it
        free = (places - 1 + offsets) % (length - 1) + 1
        right = torch.rand(rows) < keyword
        shown = torch.where(right, labels, torch.randint(2, (rows,)))
        ids[row, free] = torch.tensor(words.keywords)[shown]
    return ToyBatch(ids, labels)
