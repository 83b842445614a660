"""The language of a sentence, by function words, script and fastText's model; no answer where it is uncertain.

There are two tasks: `identify_language` helps to find the majority of a corpus, where single errors do not matter;
`ExpectedLanguage.detect_other_language` decides about a single sentence, and needs strong evidence.
"""

import re
from itertools import repeat
from types import MappingProxyType

from regard.data.doctor.languages import FUNCTION_WORDS
from regard.languages import are_confusable, are_variants, normalize_code, rank_languages
from regard.languages.identify import is_identifiable
from regard.languages.scripts import DEFAULT_LANGUAGE, SCRIPT_BLOCKS, SCRIPT_OF_CHAR, UNIQUE_SCRIPTS, scripts_of

MIN_WORDS = 6
"""Distinct words that a sentence needs to be identified by its words."""
MIN_FUNCTION_WORDS = 4
"""Distinct function words of another language that a sentence needs to be reported."""
MIN_SCRIPT_LETTERS = 8
"""Distinct letters of another script that a sentence needs to be reported."""
MAX_WORDS = 200
"""Words of a sentence that are counted; more would not change the result, and each counter below is one byte."""
MIN_MODEL_WORDS = 8
"""Distinct lowercase words that a sentence needs for the model to accuse it: names are written alike everywhere."""
MIN_PROBABILITY = 0.7
"""Probability of the language of a sentence, to find the language of a corpus."""
MIN_OTHER_PROBABILITY = 0.9
"""Probability of another language that a sentence needs to be reported."""
MAX_EXPECTED_PROBABILITY = 0.02

_WORD = re.compile(r"[^\W\d_]+")
_NON_LATIN = re.compile(r"[\u0370-\u1dff\u2c80-\ua6ff\ua980-\ud7ff\uf900-\ufdff\ufe70-\ufefc\U00010000-\U0003ffff]")
_BYTE_INDEX = MappingProxyType({code: lane for lane, code in enumerate(FUNCTION_WORDS)})
_CODES = tuple(FUNCTION_WORDS)
# One byte for each language in one large integer: one sum counts a sentence for all languages.
_PACKED_COUNTS = MappingProxyType(
    {
        word: sum(1 << 8 * _BYTE_INDEX[c] for c in FUNCTION_WORDS if word in FUNCTION_WORDS[c])
        for word in frozenset().union(*FUNCTION_WORDS.values())
    }
)


def known_code(code: str) -> str:
    """The code of a language without its region; "" for a language that cannot be identified."""
    short = normalize_code(code)
    return short if is_identifiable(short) else ""


def identify_language(text: str) -> str | None:
    """The code of a sentence's language, "" if it is ambiguous, None if it is too short."""
    script, letters = _dominant_script(text)
    if script in ("latin", "cyrillic"):
        if len(_distinct_words(text)) < MIN_WORDS:
            return None
    elif letters < MIN_SCRIPT_LETTERS // 2:
        return None
    for code, probability in rank_languages(text, 1):
        return code if probability >= MIN_PROBABILITY and script in scripts_of(code) else ""
    return ""


class ExpectedLanguage:
    """The language that a side is expected to be in."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.scripts = scripts_of(code)
        others = [other for other in FUNCTION_WORDS if not are_variants(code, other)]
        self._expected_mask = sum(0xFF << 8 * _BYTE_INDEX[code] for code in FUNCTION_WORDS if code not in others)
        self._other_mask = sum(0xFF << 8 * _BYTE_INDEX[code] for code in others)
        self._other_words = frozenset[str]().union(*(FUNCTION_WORDS[code] for code in others))
        self._expected_words = FUNCTION_WORDS.get(code, frozenset())
        self._distinctive_words = self._expected_words - self._other_words

    def detect_other_language(self, text: str) -> str:
        """The code of the other language that the sentence is in, or "" if it may be in the expected one."""
        tokens = text.split()
        expected_tokens = self._expected_words.intersection(tokens)
        # Fast path for most sentences: a quarter of their words are function words of the expected language, which
        # rules out the evidence required below, or two of them belong to no other language.
        if len(expected_tokens) * 4 > len(tokens) or len(expected_tokens & self._distinctive_words) >= 2:
            return ""
        script, letters = _dominant_script(text)
        # Names are written in Latin letters everywhere, so Latin letters alone are no evidence.
        if script not in self.scripts and script != "latin":
            expected_letters = sum(1 for char in set(text) if SCRIPT_OF_CHAR[char] in self.scripts)
            has_evidence = letters >= MIN_SCRIPT_LETTERS and expected_letters * 5 <= letters
            return _name_language(text, script) if has_evidence else ""
        if script == "han":
            # Text without kana may be Japanese as well, but a whole sentence rarely is.
            return (
                self._detect_by_model(text, script) if "kana" in self.scripts and letters >= MIN_SCRIPT_LETTERS else ""
            )
        if script in UNIQUE_SCRIPTS or len(tokens) < MIN_WORDS:
            return ""
        tokens = text.lower().split()
        num_other_words = len(self._other_words.intersection(tokens)) if self._expected_words else 0
        other = self._detect_by_words(text) if num_other_words >= MIN_FUNCTION_WORDS else ""
        return other or (self._detect_in_sentence(text, script) if len(tokens) >= MIN_MODEL_WORDS else "")

    def _detect_by_words(self, text: str) -> str:
        words = _distinct_words(text)
        counts = _count_function_words(words)
        expected_count = max((counts & self._expected_mask).to_bytes(len(_CODES), "little"))
        other_counts = (counts & self._other_mask).to_bytes(len(_CODES), "little")
        best = max(other_counts)
        # A third of all words are function words of another language, and hardly any of the expected one.
        has_evidence = (
            len(words) >= MIN_WORDS
            and best >= MIN_FUNCTION_WORDS
            and best * 3 >= len(words)
            and expected_count * 4 <= best
        )
        return _CODES[other_counts.index(best)] if has_evidence else ""

    def _detect_in_sentence(self, text: str, script: str) -> str:
        """By the model, for a sentence of enough words that are no names, and hardly any of the expected language."""
        words = frozenset(word for word in _WORD.findall(text)[:MAX_WORDS] if word == word.lower())
        if len(words) < MIN_MODEL_WORDS or len(words & self._expected_words) * 8 > len(words):
            return ""
        return self._detect_by_model(text, script)

    def _detect_by_model(self, text: str, script: str) -> str:
        languages = rank_languages(text, 4)
        if not languages or languages[0].probability < MIN_OTHER_PROBABILITY:
            return ""
        expected = sum(p for code, p in languages if are_confusable(self.code, code))
        has_evidence = expected <= MAX_EXPECTED_PROBABILITY and script in scripts_of(languages[0].code)
        return languages[0].code if has_evidence else ""


class AnyLanguage(ExpectedLanguage):
    """A side whose language is unknown: every sentence is accepted."""

    def __init__(self) -> None:
        super().__init__("")

    def detect_other_language(self, text: str) -> str:
        return ""


def expect_language(code: str) -> ExpectedLanguage:
    return ExpectedLanguage(code) if code else AnyLanguage()


def _name_language(text: str, script: str) -> str:
    """The most probable language of a text among those of its script."""
    candidates = (code for code, _ in rank_languages(text) if script in scripts_of(code))
    return next(candidates, DEFAULT_LANGUAGE[script])


def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())[:MAX_WORDS])


def _count_function_words(words: frozenset[str]) -> int:
    return sum(map(_PACKED_COUNTS.get, words, repeat(0)))


def _dominant_script(text: str) -> tuple[str, int]:
    """The script of most distinct letters, and their number; purely Latin text is not counted."""
    if text.isascii() or not _NON_LATIN.search(text):
        return "latin", 0
    counts = dict.fromkeys(SCRIPT_BLOCKS, 0)
    for char in set(text):
        if name := SCRIPT_OF_CHAR[char]:
            counts[name] += 1
    # Japanese is recognized by its kana, even if most characters are Chinese.
    script = "kana" if counts["kana"] >= 3 else max(counts, key=lambda name: counts[name])
    return script, counts[script]
