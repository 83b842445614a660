"""The labels of a classification, as the training data has them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import DataError
from regard.files import Count
from regard.tasks.label_statistics import frequency_entropy

MAX_NAMES = 7  # labels that a message lists


@dataclass(frozen=True)
class LabelSet:
    """Labels in alphabetical order, and how many texts of the training data have each. JSON by `asdict`."""

    labels: tuple[str, ...]
    counts: tuple[Count, ...]
    num_texts: Count
    multi_label: bool = False
    """Whether a text may have several labels, or none."""

    def __post_init__(self) -> None:
        if list(self.labels) != sorted(set(self.labels)) or len(self.labels) != len(self.counts):
            raise ValueError("labels must be in alphabetical order, each once and with its count")

    @classmethod
    def of(cls, labels_of_texts: Iterable[Sequence[str]]) -> "LabelSet":
        """The labels of the texts of the training data."""
        counts: Counter[str] = Counter()
        num_texts, multi_label = 0, False
        for labels in labels_of_texts:
            counts.update(set(labels))
            num_texts += 1
            multi_label |= len(labels) != 1
        if not multi_label and len(counts) == 1:
            raise DataError(
                f"all texts of the training data have the label '{min(counts)}'; expected at least two labels"
            )
        if not counts:
            raise DataError("no text of the training data has a label; expected one for each text")
        names = sorted(counts)
        return cls(tuple(names), tuple(counts[name] for name in names), num_texts, multi_label)

    def encode(self, labels: Sequence[str]) -> list[int]:
        """The numbers of the labels of a text."""
        if not self.multi_label and len(labels) != 1:
            raise DataError(f"a text has {len(labels)} labels; in the training data every text has one")
        if unknown := sorted({*labels} - {*self.labels}):
            raise DataError(
                f"the label '{unknown[0]}' does not occur in the training data, which has {self._list_labels()}; "
                f"correct it, or add texts with this label to the training data"
            )
        return sorted({self.labels.index(label) for label in labels})

    def decode(self, ids: Iterable[int]) -> tuple[str, ...]:
        """The labels of these numbers."""
        return tuple(self.labels[i] for i in ids)

    def stack_targets(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The numbers of each text's labels as targets: (B,), or 0 and 1 for each label (B, C)."""
        if not self.multi_label:
            return torch.tensor([row[0] for row in rows])
        targets = torch.zeros(len(rows), len(self.labels), dtype=torch.long)
        for target, row in zip(targets, rows, strict=True):
            target[list(row)] = 1
        return targets

    @property
    def entropy(self) -> float:
        """The loss per text, in nats, of always predicting the frequencies of the labels."""
        if not self.multi_label:
            return frequency_entropy(self.counts)
        return sum(frequency_entropy((count, self.num_texts - count)) for count in self.counts)

    def _list_labels(self) -> str:
        more = len(self.labels) - MAX_NAMES
        return ", ".join(self.labels[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
