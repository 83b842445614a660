"""Batches of single texts, for jobs whose targets are labels of texts or of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

MAX_TOKENS = 4096  # of a batch of texts to predict from, padding included
IGNORED = -100
"""The label of a token that is no target, as `ignore_index` in PyTorch."""


@dataclass(frozen=True)
class TextBatch:
    """Padded ids of texts, and their labels."""

    ids: Tensor  # (B, T)
    labels: Tensor  # (B,), or (B, C) of texts with several labels, as 0 and 1
    num_targets: int
    token_type_ids: Tensor | None = None  # (B, T), where texts come in pairs

    def to(self, device: torch.device) -> Self:
        if device.type == "cpu":
            return self
        types = None if self.token_type_ids is None else self.token_type_ids.to(device)
        return replace(self, ids=self.ids.to(device), labels=self.labels.to(device), token_type_ids=types)

    def duplicate(self) -> Self:
        """The batch with every text twice: (B, …) -> (2B, …), the copies after the originals."""
        types = None if self.token_type_ids is None else self.token_type_ids.repeat(2, 1)
        ids, labels = self.ids.repeat(2, 1), torch.cat((self.labels, self.labels))
        return replace(self, ids=ids, labels=labels, num_targets=2 * self.num_targets, token_type_ids=types)

    def shuffle_inputs(self) -> Self | None:
        """The batch with the labels of another text for each; None for a single text."""
        return replace(self, labels=self.labels.roll(1, dims=0)) if len(self.ids) > 1 else None


class TokenLabelBatch(TextBatch):
    """Padded ids of texts, and the labels of their tokens: (B, T), IGNORED where a token is no target."""

    @classmethod
    def of(cls, ids: Tensor, labels: Tensor) -> Self:
        return cls(ids, labels, int((labels != IGNORED).sum()))

    def shuffle_inputs(self) -> None:
        """Nothing: the labels of one text fit the tokens of no other."""
        return


def pad_rows(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    """Rows of numbers as one matrix (B, T), filled up on the right."""
    matrix = np.full((len(rows), max(map(len, rows))), value, np.int64)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return torch.from_numpy(matrix)


def batch_by_length(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """The numbers of rows in batches of similar length, each within the token budget."""
    batches: list[list[int]] = []
    for i in sorted(range(len(rows)), key=lambda i: len(rows[i])):
        if not batches or (len(batches[-1]) + 1) * len(rows[i]) > MAX_TOKENS:
            batches.append([])
        batches[-1].append(i)
    return batches
