"""The nouns that every format speaks: what is read from a file, and what is put back into one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation."""

    source: str
    target: str
    location: str = ""
    """Where it came from: file:line."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A text of a document that still wants its translation.

    It may hold line feeds. Translated line by line and joined again, it keeps them all by construction.
    """

    source: str
    location: str = ""
    """Where it stands: file:line."""
    context: str = ""
    """What its author says to tell it from its namesakes (msgctxt, the id of a unit)."""
    flags: tuple[str, ...] = ()
    """What is known of its placeholders: python-format, c-format, no-c-format, …"""
