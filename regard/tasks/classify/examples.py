"""Labeled texts as they are stored: a pair of texts and its labels in two strings."""

from regard.formats import Pair
from regard.formats.labeled import LabeledText
from regard.tasks.text_forward import InputText

SEPARATOR = "\x1e"
"""Between the two texts of a pair, and between labels: U+001E, the record separator of ASCII."""


def store_example(example: LabeledText) -> Pair:
    """The input and the labels of an example as two strings."""
    texts = [example.text] if example.text_pair is None else [example.text, example.text_pair]
    return Pair(
        SEPARATOR.join(text.replace(SEPARATOR, " ") for text in texts),
        SEPARATOR.join(label.replace(SEPARATOR, " ") for label in example.labels),
        example.location,
    )


def restore_example(pair: Pair) -> LabeledText:
    """The example that `store_example` has stored."""
    text, separator, text_pair = pair.source.partition(SEPARATOR)
    return LabeledText(text, restore_labels(pair.target), text_pair if separator else None, pair.location)


def restore_labels(target: str) -> tuple[str, ...]:
    """The labels of a stored example; none where it has none."""
    return tuple(target.split(SEPARATOR)) if target else ()


def input_of(example: LabeledText) -> InputText:
    """What a classifier reads of an example."""
    return example.text if example.text_pair is None else (example.text, example.text_pair)
