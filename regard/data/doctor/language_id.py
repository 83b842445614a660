"""Language identification by function words and script; no answer where it is uncertain.

The label of a language is a code that has a word list, or else the name of a script. There are two tasks:
`identify_language` helps to find the majority of a corpus, where single errors do not matter;
`ExpectedLanguage.detect_other_language` decides about a single sentence, and needs strong evidence.
"""

import re
from itertools import repeat
from types import MappingProxyType

from regard.data.doctor.languages import FUNCTION_WORDS, SCRIPT_BLOCKS, SCRIPT_OF

MIN_WORDS = 6
"""Distinct words that a sentence needs to be identified by its words."""
MIN_FUNCTION_WORDS = 4
"""Distinct function words of another language that a sentence needs to be reported."""
MIN_SCRIPT_LETTERS = 8
"""Distinct letters of another script that a sentence needs to be reported."""
MAX_WORDS = 200
"""Words of a sentence that are counted; more would not change the result, and each counter below is one byte."""

_ALIASES = {"no": "nb", "cz": "cs", "ua": "uk", "jp": "ja", "cn": "zh", "kr": "ko", "iw": "he"}
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


def label_of_code(code: str) -> str:
    """The label of a language code; "" for an unsupported language."""
    short = re.split("[-_]", code.lower())[0]
    short = _ALIASES.get(short, short)
    return short if short in FUNCTION_WORDS else SCRIPT_OF.get(short, "")


def labels_agree(one: str, other: str) -> bool:
    """Whether two labels may mean the same language; a script agrees with every language written in it."""
    if one == other:
        return True
    is_script_only = one not in FUNCTION_WORDS or other not in FUNCTION_WORDS
    return is_script_only and SCRIPT_OF.get(one, one) == SCRIPT_OF.get(other, other)


def identify_language(text: str) -> str | None:
    """The label of a sentence, "" if it is ambiguous, None if it is too short."""
    script, letters = _dominant_script(text)
    if script not in ("latin", "cyrillic"):
        return script if letters >= MIN_SCRIPT_LETTERS // 2 else None
    words = _distinct_words(text)
    if len(words) < MIN_WORDS:
        return None
    counts = _count_function_words(words).to_bytes(len(_CODES), "little")
    best, second = sorted(counts)[:-3:-1]
    return _CODES[counts.index(best)] if best >= 3 and best >= second + 2 else ""


class ExpectedLanguage:
    """The language that a side is expected to be in."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.script = SCRIPT_OF.get(label, label)
        self.scripts = {"kana": ("kana", "han"), "hangul": ("hangul", "han")}.get(self.script, (self.script,))
        expected_codes = [code for code in FUNCTION_WORDS if labels_agree(code, label)]
        self._expected_mask = sum(0xFF << 8 * _BYTE_INDEX[code] for code in expected_codes)
        self._other_mask = sum(0xFF << 8 * _BYTE_INDEX[code] for code in FUNCTION_WORDS if code not in expected_codes)
        self._expected_words = frozenset[str]().union(*(FUNCTION_WORDS[code] for code in expected_codes))
        self._other_words = frozenset[str]().union(
            *(FUNCTION_WORDS[code] for code in FUNCTION_WORDS if code not in expected_codes)
        )
        self._distinctive_words = self._expected_words - self._other_words

    def detect_other_language(self, text: str) -> str:
        """The label of the other language that the sentence is in, or "" if it may be in the expected one."""
        tokens = text.split()
        expected_tokens = self._expected_words.intersection(tokens)
        # Fast path for most sentences: a quarter of their words are function words of the expected language, which
        # rules out the evidence required below, or two of them belong to no other language.
        if len(expected_tokens) * 4 > len(tokens) or len(expected_tokens & self._distinctive_words) >= 2:
            return ""
        script, letters = _dominant_script(text)
        tokens = text.lower().split()
        # Names are written in Latin letters everywhere, so Latin letters alone are no evidence.
        if script not in self.scripts and script != "latin":
            expected_letters = sum(1 for char in set(text) if _SCRIPT_OF_CHAR[char] in self.scripts)
            return (
                identify_language(text) or script
                if letters >= MIN_SCRIPT_LETTERS and expected_letters * 5 <= letters
                else ""
            )
        has_evidence = len(tokens) >= MIN_WORDS and len(self._other_words.intersection(tokens)) >= MIN_FUNCTION_WORDS
        return self._detect_by_words(text) if has_evidence else ""

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


class AnyLanguage(ExpectedLanguage):
    """A side whose language is unknown: every sentence is accepted."""

    def __init__(self) -> None:
        super().__init__("")

    def detect_other_language(self, text: str) -> str:
        return ""


def expect_language(label: str) -> ExpectedLanguage:
    return ExpectedLanguage(label) if label else AnyLanguage()


def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())[:MAX_WORDS])


def _count_function_words(words: frozenset[str]) -> int:
    return sum(map(_PACKED_COUNTS.get, words, repeat(0)))


class _ScriptCache(dict[str, str]):
    """The script of a character; "" for punctuation and digits."""

    def __missing__(self, char: str) -> str:
        code = ord(char)
        matches = (name for name, blocks in SCRIPT_BLOCKS.items() if any(low <= code <= high for low, high in blocks))
        self[char] = name = next(matches, "") if char.isalpha() else ""
        return name


_SCRIPT_OF_CHAR = _ScriptCache()


def _dominant_script(text: str) -> tuple[str, int]:
    """The script of most distinct letters, and their number; purely Latin text is not counted."""
    if text.isascii() or not _NON_LATIN.search(text):
        return "latin", 0
    counts = dict.fromkeys(SCRIPT_BLOCKS, 0)
    for char in set(text):
        if name := _SCRIPT_OF_CHAR[char]:
            counts[name] += 1
    # Japanese is recognized by its kana, even if most characters are Chinese.
    script = "kana" if counts["kana"] >= 3 else max(counts, key=lambda name: counts[name])
    return script, counts[script]
