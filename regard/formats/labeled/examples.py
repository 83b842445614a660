"""What is read from a file of labeled text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabeledText:
    """A text, or a pair of texts, with its labels: usually one, several in multi-label classification."""

    text: str
    labels: tuple[str, ...]
    text_pair: str | None = None
    """The second text of a pair; None where single texts are classified."""
    location: str = ""
    """Where it was read: file:line."""


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """The words of a sentence, each with a tag, as the file has them."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    location: str = ""
    """Where its first word was read: file:line."""


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a table: names, or numbers from 1 on where it has no header; unset: recognized by their names."""

    text: str = ""
    text_pair: str = ""
    label: str = ""
