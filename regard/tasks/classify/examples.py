"""Labeled texts as they are stored: a pair of texts and its labels in two strings."""

from regard.formats import Pair
from regard.formats.labeled import LabeledText
from regard.tasks.stored_parts import SEPARATOR, join_parts, split_parts
from regard.tasks.text_forward import InputText


def store_example(example: LabeledText) -> Pair:
    """The input and the labels of an example as two strings."""
    texts = [example.text] if example.text_pair is None else [example.text, example.text_pair]
    return Pair(join_parts(texts), join_parts(example.labels), example.location)


def restore_example(pair: Pair) -> LabeledText:
    """The example that `store_example` has stored."""
    text, separator, text_pair = pair.source.partition(SEPARATOR)
    return LabeledText(text, restore_labels(pair.target), text_pair if separator else None, pair.location)


def restore_labels(target: str) -> tuple[str, ...]:
    """The labels of a stored example; none where it has none."""
    return split_parts(target) if target else ()


def input_of(example: LabeledText) -> InputText:
    """What a classifier reads of an example."""
    return example.text if example.text_pair is None else (example.text, example.text_pair)
