"""How ROUGE splits texts into words, each way with a signature."""

import re
from dataclasses import dataclass
from typing import Protocol

from regard.languages.porter import stem
from regard.metrics.rouge import WORD

ENGLISH_WORD = re.compile("[a-z0-9]+")
MIN_STEMMED = 4
"""Characters from which on a word is stemmed."""


class WordSplitter(Protocol):
    """A text -> its words."""

    @property
    def signature(self) -> str: ...

    def split(self, text: str) -> list[str]: ...


@dataclass(frozen=True)
class EnglishWords:
    """The words of rouge-score: what is no letter from a to z and no digit separates words.

    It destroys other scripts, and accents: "naïve" becomes "na" and "ve".
    """

    stemmed: bool = True

    @property
    def signature(self) -> str:
        return f"tok:a-z0-9|case:lc|stem:{'porter' if self.stemmed else 'no'}"

    def split(self, text: str) -> list[str]:
        words = ENGLISH_WORD.findall(text.lower())
        return [stem(word) if len(word) >= MIN_STEMMED else word for word in words] if self.stemmed else words


class UnicodeWords:
    """Letters, digits and marks of any script, without stems."""

    signature = r"tok:\w+|case:lc|stem:no"

    def split(self, text: str) -> list[str]:
        return WORD.findall(text.lower())
