"""Passages: an encoder reads a limited number of tokens, so a longer document is cut into windows that overlap."""

from collections.abc import Sequence

Span = tuple[int, int]
"""Where a passage begins and ends, in characters."""
OVERLAP = 4
"""A window begins a quarter of its length before the one before it ends."""


def split_passages(text: str, token_spans: Sequence[Span], window: int) -> list[Span]:
    """The passages of a text, each of at most `window` tokens; `token_spans` has the characters of every token.

    A passage begins with a word where there are blanks. A blank text has none.
    """
    if not text.strip():
        return []
    tokens = [span for span in token_spans if span[1] > span[0]]
    if len(tokens) <= window:
        return [(0, len(text))]
    step = max(1, window - window // OVERLAP)
    passages, begin = list[Span](), 0
    while begin + window < len(tokens):
        passages.append((tokens[begin][0], tokens[begin + window - 1][1]))
        begin = _find_word(text, tokens, begin + step, begin + step // 2)
    return [*passages, (tokens[begin][0], len(text))]


def _find_word(text: str, tokens: Sequence[Span], number: int, lowest: int) -> int:
    """The last token up to this one that stands after a blank; this one itself if there is none above `lowest`."""
    words = (i for i in range(number, lowest, -1) if text[tokens[i][0] - 1].isspace())
    return next(words, number)
