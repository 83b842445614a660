"""What baselines are fitted on, no more than time and memory allow, and how their settings are chosen on dev."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from regard.errors import DataError
from regard.formats.labeled import LabeledText

Item = TypeVar("Item")
System = TypeVar("System")


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


def choose_in_turn(
    fit: Callable[..., System], grid: Mapping[str, Sequence[Any]], score: Callable[[System], float] | None
) -> System:
    """The system with the best value of each setting, chosen one setting after another; of equal ones, the first.

    One after another, because all combinations take longer than cheap opponents may. Without a score, which needs dev,
    the first value of every setting.
    """
    chosen = {name: values[0] for name, values in grid.items()}
    best = fit(**chosen)
    if score is None:
        return best
    best_score = score(best)
    for name, values in grid.items():
        for settings in [{**chosen, name: value} for value in values[1:]]:
            system = fit(**settings)
            if (value := score(system)) > best_score:
                best, best_score, chosen = system, value, settings
    return best
