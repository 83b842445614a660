"""What the doctor sees of an example of any task: a text, its classes, and its answer."""

from dataclasses import dataclass

from regard.data.tag_schemes import TagScheme, types_of
from regard.formats.labeled import LabeledText, TaggedSentence


@dataclass(frozen=True, slots=True)
class ExampleView:
    """One example of any task with labels."""

    text: str
    classes: tuple[str, ...]
    """The labels of a text, or the types of the spans of a sentence."""
    answer: tuple[str, ...]
    """What is to be predicted: the same text with another answer is a contradiction."""
    location: str = ""
    broken_tags: str = ""
    """What breaks the scheme of its tags."""


def view_labeled_text(example: LabeledText) -> ExampleView:
    """A text with its labels; a pair is one text of two parts."""
    text = example.text if example.text_pair is None else f"{example.text}\t{example.text_pair}".strip()
    labels = tuple(sorted(set(example.labels)))
    return ExampleView(text, labels, labels, example.location)


def view_tagged_sentence(sentence: TaggedSentence, scheme: TagScheme) -> ExampleView:
    """A sentence as a text."""
    broken_tags = scheme.find_break(sentence.tags)
    return ExampleView(" ".join(sentence.words), types_of(sentence.tags), sentence.tags, sentence.location, broken_tags)
