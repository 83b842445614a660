"""What is read from a file of texts that belong together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelatedTexts:
    """A text with its positive, which means the same or answers it; or with another text and their similarity."""

    text: str
    positive: str | None = None
    """None where a file has single texts."""
    negatives: tuple[str, ...] = ()
    """Hard negatives: texts that are alike, and mean something else."""
    similarity: float | None = None
    """Of the text and the other one, as the file has it; None where they simply belong together."""
    location: str = ""
    """Where it was read: file:line."""
