"""The noun that every format yields."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation."""

    source: str
    target: str
    note: str = ""
    """Where it came from: file:line."""
