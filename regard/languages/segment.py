"""Words of scripts that put no blanks between them, by the dictionaries and rules of ICU."""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator

from regard.languages.scripts import SCRIPT_BLOCKS, UNSPACED_SCRIPTS

Segmenter = Callable[[str], Iterator[str]]

_BLOCKS = "".join(f"{chr(low)}-{chr(high)}" for name in UNSPACED_SCRIPTS for low, high in SCRIPT_BLOCKS[name])
_UNSPACED = re.compile(f"[{_BLOCKS}]")


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script without blanks between words."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def split_unspaced(text: str) -> Iterator[str]:
    """The consecutive parts of a text: its words, and what is between them."""
    return _segmenter()(text)


def split_characters(text: str) -> Iterator[str]:
    """The characters of a text, each with the marks that are written above, below and after it."""
    start = 0
    for i in range(1, len(text)):
        if unicodedata.category(text[i])[0] != "M":
            yield text[start:i]
            start = i
    if text:
        yield text[start:]


@functools.cache
def _segmenter() -> Segmenter:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        return split_characters
    # Strings, not its offsets: those count UTF-16 units, which are two for rare characters.
    return lambda text: iter(WordBreaker(text, "und"))
