"""What a translation has probably lost, found by comparing it with its source: no model, no reference."""

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from regard.data.text_statistics import TextStatistics, length_ratio
from regard.data.tokenizers.tokenizer import Tokenizer
from regard.formats.placeholders import PLACEHOLDER
from regard.languages.number_words import names_number
from regard.tasks.translate.translator import Translation, TranslationIssue

DIGITS = re.compile(r"\d+")
# Groups of three digits after a comma, a full stop, an apostrophe or a blank, and decimals: 1,000.5 and 1 000,5.
NUMBER = re.compile(r"\d{1,3}(?:[.,'’٬\u0020\u00a0\u2009\u202f]\d{3})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,٫]\d+)?")
DECIMAL = re.compile(r"\d+[.,٫](?!\d{3}\b)\d+|.*[.,'’٬\s]\d{3}[.,٫]\d+")
TIME = re.compile(r"\d[\u0020\u00a0\u202f]?(?::\d\d|h\b|heures?\b|uhr\b|[ap]\.?m\b|o['’]clock\b)", re.IGNORECASE)
MAX_DIGITS = 15
MAX_CHECKED = 20
"""Numbers of a line that are looked for in words; a line with more of them is a table."""
UNKNOWN_TOKEN = "\u2047"
"""What SentencePiece shows for a token without text."""
MAX_SHOWN = 5
CUT_MESSAGE = "it was cut at the maximum length, or where it began to repeat itself"


class QualityCheck:
    """The issues of translations by one model."""

    def __init__(self, tokenizer: Tokenizer, statistics: TextStatistics, target: str = ""):
        """The tokenizer of the source, the statistics of the training text, and the code of the target language."""
        self._tokenizer = tokenizer
        self._target = target
        self._statistics = statistics
        self._is_known = functools.cache(self._is_known_character)

    def check(self, source: str, translation: Translation) -> Translation:
        """The translation with its issues. Placeholders and tags are left out: they have a check of their own."""
        if not source.strip():
            return translation
        origin, text = (PLACEHOLDER.sub(" ", side) for side in (source, translation.text))
        omissions = self._omissions(origin, text, translation.truncated)
        issues = (*omissions, *_lost_numbers(origin, text, self._target), *self._unseen(origin, text))
        return replace(translation, issues=issues)

    def _omissions(self, source: str, text: str, truncated: bool) -> Iterator[TranslationIssue]:
        ratio, minimum = length_ratio(source, text), self._statistics.min_length_ratio
        if truncated:
            yield TranslationIssue("omission", CUT_MESSAGE)
        elif ratio < minimum:
            sizes = f"{len(text.strip())} characters for {len(source.strip())}"
            yield TranslationIssue("omission", f"it is far too short: {sizes}")

    def _unseen(self, source: str, text: str) -> Iterator[TranslationIssue]:
        unseen = [character for character in dict.fromkeys(source) if not self._is_known(character)]
        if unseen:
            shown = ", ".join(map(_show_character, unseen[:MAX_SHOWN])) + (" …" if len(unseen) > MAX_SHOWN else "")
            yield TranslationIssue("characters", f"its source has {shown}, which the model has never seen")
        if UNKNOWN_TOKEN in text and UNKNOWN_TOKEN not in source:
            yield TranslationIssue("characters", f"it has {text.count(UNKNOWN_TOKEN)} unknown tokens ({UNKNOWN_TOKEN})")

    def _is_known_character(self, character: str) -> bool:
        characters = self._statistics.source_characters
        if characters is None:
            return character == " " or self._tokenizer.covers(character)
        return character == " " or character in characters


def _lost_numbers(source: str, text: str, target: str) -> Iterator[TranslationIssue]:
    """Numbers of the source that the translation lacks, in digits and in words; how digits are grouped is free."""
    if not DIGITS.search(source):
        return
    by_digits, by_number = (_missing(pattern, source, text) for pattern in (DIGITS, NUMBER))
    if not by_digits:
        return
    are_times = bool(TIME.search(source) and TIME.search(text))
    values = {_value(other) for pattern in (NUMBER, DIGITS) for other in pattern.findall(text)}
    lost = [
        number
        for i, number in enumerate(by_number)
        if i >= MAX_CHECKED or not _is_written_otherwise(number, text, target, values, are_times)
    ]
    if lost:
        extra = _missing(NUMBER, text, source)
        missing = ", ".join(lost[:MAX_SHOWN])
        message = f"it has {', '.join(extra[:MAX_SHOWN])} instead of {missing}" if extra else f"it lacks {missing}"
        yield TranslationIssue("numbers", message)


def _is_written_otherwise(number: str, text: str, target: str, values: set[int], is_time: bool) -> bool:
    """Whether a text has a number in words, a time of day by the other clock, or a decade with or without its century.

    `values` are the numbers that it has in digits. Numbers with decimals are hardly ever written otherwise.
    """
    if DECIMAL.fullmatch(number):
        return False
    value = _value(number)
    if is_time and (value == 0 or (value <= 24 and value % 12 in {other % 12 for other in values if other <= 24})):
        return True
    if value % 10 == 0 and (1900 + value in values if value < 100 else value > 1000 and value % 100 in values):
        return True
    return names_number(text, value, target, values.__contains__)


def _value(number: str) -> int:
    return int(_digits(number)[:MAX_DIGITS])


def _missing(pattern: re.Pattern[str], source: str, text: str) -> list[str]:
    """The numbers of one text that another lacks, as they are written."""
    available = Counter(map(_digits, pattern.findall(text)))
    missing = []
    for number in pattern.findall(source):
        if available[_digits(number)]:
            available[_digits(number)] -= 1
        else:
            missing.append(number)
    return missing


def _digits(number: str) -> str:
    """The digits of a number in any script as ASCII, without zeros at the beginning."""
    digits = "".join(str(unicodedata.decimal(character)) for character in number if character.isdecimal())
    return digits.lstrip("0") or "0"


def _show_character(character: str) -> str:
    """A character, or its code point if it is invisible."""
    is_visible = character.isprintable() and not character.isspace() and not unicodedata.combining(character)
    return character if is_visible else f"U+{ord(character):04X}"
