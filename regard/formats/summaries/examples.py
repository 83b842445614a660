"""What is read from a file of documents and their summaries."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SummarizedDocument:
    """A document with one summary or several, each by another person."""

    sentences: tuple[str, ...]
    """As the file has them; the lines of a document that the file does not divide."""
    references: tuple[str, ...]
    title: str = ""
    """Empty where the file has none."""
    labels: tuple[int, ...] | None = None
    """1 for each sentence that an extract takes, 0 for the others; None where nothing is known of them."""
    is_divided: bool = True
    """Whether the file has a list of sentences."""
    location: str = ""
    """Where it was read: file:line."""

    @property
    def text(self) -> str:
        """The whole document."""
        return " ".join(self.sentences)
