"""Text as its tokens come: whole characters, and nothing that may still turn out to be a stop string."""

import codecs
from collections.abc import Sequence


class TextStream:
    """The text of tokens, cut before the first of the stop strings, wherever the borders of tokens are."""

    def __init__(self, stop: Sequence[str] = ()):
        self.stopped = False
        """Whether a stop string was found; nothing is released after it."""
        self._stop = stop
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")  # holds an unfinished character
        self._held = ""  # text that may be the beginning of a stop string

    def add(self, token_bytes: bytes) -> str:
        """What can be shown after one more token."""
        text = self._held + self._decoder.decode(token_bytes)
        if cuts := [text.index(stop) for stop in self._stop if stop in text]:
            self.stopped = True
            self._held = ""
            return text[: min(cuts)]
        start = len(text) - max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[start:]
        return text[:start]

    def finish(self) -> str:
        """What was held back, after the last token; a character that was never finished is left out."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The length of the longest end of a text that is the beginning of a stop string."""
    longest = min(len(text), len(stop) - 1)
    return next(length for length in range(longest, -1, -1) if text.endswith(stop[:length]))
