"""What baselines are fitted on: examples with labels, and no more of them than time and memory allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from regard.errors import DataError
from regard.formats.labeled import LabeledText

Item = TypeVar("Item")


@dataclass(frozen=True)
class LabeledExamples:
    """Texts that all have one label, or sets of labels."""

    examples: Sequence[LabeledText]
    multi_label: bool


def select_labeled(examples: Sequence[LabeledText]) -> LabeledExamples:
    """The texts to learn from, and whether any has several labels.

    A text without labels has the empty set where texts may have several, and is no example where each has one.
    """
    multi_label = any(len(example.labels) > 1 for example in examples)
    selected = examples if multi_label else [example for example in examples if example.labels]
    if not any(example.labels for example in selected):
        raise DataError("no labels to learn from; expected at least one text with a label")
    return LabeledExamples(selected, multi_label)


def spaced(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items at even distances, in their order."""
    if count >= len(items):
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]
