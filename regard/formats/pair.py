"""What is read from a file of translations, and what is filled into one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation."""

    source: str
    target: str
    location: str = ""
    """Where it was read: file:line."""


@dataclass(frozen=True, slots=True)
class Segment:
    """An untranslated text of a document.

    It may contain line feeds. They are all preserved if it is translated line by line and joined again.
    """

    source: str
    location: str = ""
    """Where it was read: file:line."""
    context: str = ""
    """What distinguishes it from identical texts (msgctxt, the id of a unit)."""
    flags: tuple[str, ...] = ()
    """The syntax of its placeholders: python-format, c-format, no-c-format, …"""
