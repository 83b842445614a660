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


def select_labeled(examples: Sequence[LabeledText], multi_label: bool | None) -> LabeledExamples:
    """The texts to learn from; whether they have several labels is recognized unless it is known.

    A text without labels has the empty set where texts may have several, and is no example where each has one.
    """
    several = next((example for example in examples if len(example.labels) > 1), None)
    if multi_label is False and several is not None:
        raise DataError(f"{several.location or several.text!r}: has {len(several.labels)} labels; expected one")
    is_multi_label = several is not None if multi_label is None else multi_label
    selected = examples if is_multi_label else [example for example in examples if example.labels]
    if not any(example.labels for example in selected):
        raise DataError("no labels to learn from; expected at least one text with a label")
    return LabeledExamples(selected, is_multi_label)


def spaced(items: Sequence[Item], count: int) -> list[Item]:
    """At most `count` items at even distances, in their order."""
    if count >= len(items):
        return list(items)
    return [items[number * len(items) // count] for number in range(count)]
