"""What a translator was trained on, in a few numbers: how long translations are, which characters occur, and whether
lines hold several sentences.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.sentences import rules_for, split_sentences
from regard.data.store import chunks
from regard.errors import DataError

LENGTH_OFFSET = 8
"""Added to both lengths before they are divided: one word more or less says little about a short sentence."""
DEFAULT_MIN_LENGTH_RATIO = 0.45
"""Where nothing is known of the training text."""
SHORTEST_SHARE = 0.002
"""Share of the training pairs that are shorter than the least length ratio."""
RATIO_RANGE = (0.35, 0.8)
"""The least length ratio is never outside of these shares of the median: misaligned pairs would lower it."""
SAMPLE = 20_000
CHARACTER_CHUNK = 10_000
WIDE_SCRIPTS = {"CJK": 3.0, "HIRAGANA": 2.0, "KATAKANA": 2.0, "HANGUL": 2.0}
"""Letters of an alphabet that a character of these scripts replaces, roughly."""


@dataclass(frozen=True)
class TextStatistics:
    """Statistics of the training text of a run."""

    min_length_ratio: float = DEFAULT_MIN_LENGTH_RATIO
    """A translation below this ratio is far too short for its source; see `length_ratio`."""
    multi_sentence_share: float = 0.0
    """Share of the sources that hold several sentences."""
    source_characters: frozenset[str] | None = None
    """Every character of the sources; None if unknown."""

    def as_dict(self) -> dict[str, Any]:
        characters = None if self.source_characters is None else "".join(sorted(self.source_characters))
        return {
            "min_length_ratio": self.min_length_ratio,
            "multi_sentence_share": self.multi_sentence_share,
            "source_characters": characters,
        }

    @staticmethod
    def from_dict(table: Any) -> "TextStatistics":
        """The inverse of `as_dict`; anything else is a DataError."""
        if not isinstance(table, Mapping):
            raise DataError(f"expected an object with statistics of the training text, got {type(table).__name__}")
        characters = table.get("source_characters")
        if characters is not None and not isinstance(characters, str):
            raise DataError(f"expected source_characters as text, got {type(characters).__name__}")
        return TextStatistics(
            _require_number(table, "min_length_ratio"),
            _require_number(table, "multi_sentence_share"),
            None if characters is None else frozenset(characters),
        )


def _require_number(table: Mapping[str, Any], name: str) -> float:
    number = table.get(name)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1000:
        raise DataError(f"expected {name} as a number from 0 to 1000, got {number!r:.40}")
    return float(number)


def measure_texts(sources: Sequence[str], targets: Sequence[str], language: str) -> TextStatistics:
    """The statistics of aligned texts; `language` is that of the sources."""
    stride = max(1, len(sources) // SAMPLE)
    sample = range(0, len(sources), stride)
    rules = rules_for(language)
    num_multiple = sum(len(split_sentences(sources[i], rules)) > 1 for i in sample)
    ratios = sorted(length_ratio(sources[i], targets[i]) for i in sample)
    return TextStatistics(
        _min_ratio(ratios) if ratios else DEFAULT_MIN_LENGTH_RATIO,
        num_multiple / max(1, len(sample)),
        collect_characters(sources),
    )


def collect_characters(texts: Iterable[str]) -> frozenset[str]:
    """Every character of the texts."""
    characters: set[str] = set()
    for chunk in chunks(texts, CHARACTER_CHUNK):
        characters.update("".join(chunk))
    return frozenset(characters)


def length_ratio(source: str, target: str) -> float:
    """The length of a target per length of its source, close to 1 where both are a few letters long."""
    return (text_length(target) + LENGTH_OFFSET) / (text_length(source) + LENGTH_OFFSET)


def text_length(text: str) -> float:
    """The number of characters; one of Chinese, Japanese or Korean counts as several, as it says as much."""
    if text.isascii():
        return float(len(text))
    return math.fsum(_width(character) for character in text)


def _width(character: str) -> float:
    if character < "\u1100":
        return 1.0
    return WIDE_SCRIPTS.get(unicodedata.name(character, "").partition(" ")[0], 1.0)


def _min_ratio(ratios: Sequence[float]) -> float:
    median = ratios[len(ratios) // 2]
    low, high = (share * median for share in RATIO_RANGE)
    return min(max(ratios[int(SHORTEST_SHARE * len(ratios))], low), high)
