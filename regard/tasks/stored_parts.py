"""Several strings as one, as an example is stored: two texts, several labels, the words of a sentence."""

from collections.abc import Iterable

SEPARATOR = "\x1e"
"""U+001E, the record separator of ASCII. Where a part has it, a blank takes its place."""


def join_parts(parts: Iterable[str]) -> str:
    """Strings as one."""
    return SEPARATOR.join(part.replace(SEPARATOR, " ") for part in parts)


def split_parts(stored: str) -> tuple[str, ...]:
    """The strings that `join_parts` has joined, of which there was at least one."""
    return tuple(stored.split(SEPARATOR))
