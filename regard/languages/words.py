"""The words of a text: what alignments, heat maps and attributions count."""

import re
import unicodedata
from collections.abc import Iterator

from regard.languages.segment import is_unspaced, split_unspaced

# What is written above, below and after letters: accents of decomposed text, vowels of Devanagari and other scripts.
MARKS = "".join(map(chr, (c for c in range(0x0300, 0x1E00) if unicodedata.category(chr(c)) in ("Mn", "Mc"))))
_RUN = rf"[^\W_](?:[^\W_]|[{MARKS}])*"
_PLAIN = rf"{_RUN}(?:-{_RUN})*"  # hyphens join
_CONTRACTION = "(?:s|m|d|re|ve|ll)"
_WORD = re.compile(
    rf"""
      aujourd['’]hui                              # one word to every dictionary, in spite of its apostrophe
    | [a-z]+n['’]t\b                             # so is an English word that says no: don't
    | {_PLAIN} (?: ['’] (?!{_CONTRACTION}\b) (?=[^\W_]) )?  # an elided French word keeps its apostrophe: l' + homme
    | (?<=\w) ['’]{_CONTRACTION}\b                     # what English shortens stands alone: teacher + 's, we + 're
    | [^\w\s] | _                               # so does each mark; any white space, U+00A0 too, separates
    """,
    re.VERBOSE | re.IGNORECASE,
)


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each word of the text begins and ends, in characters."""
    spans = (match.span() for match in _WORD.finditer(text))
    return [part for span in spans for part in _split_span(text, *span)] if is_unspaced(text) else list(spans)


def split_words(text: str) -> list[str]:
    """The words that alignments and links count: hyphens join, French elisions and marks stand alone."""
    return [text[a:b] for a, b in word_spans(text)]


def count_words(text: str) -> int:
    """The words between blanks; where a script has no blanks, the words that a segmenter finds."""
    return len(text.split()) if not is_unspaced(text) else sum(any(map(str.isalnum, w)) for w in split_words(text))


def _split_span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if not is_unspaced(text[start:end]):
        yield start, end
        return
    for part in split_unspaced(text[start:end]):
        yield start, start + len(part)
        start += len(part)
