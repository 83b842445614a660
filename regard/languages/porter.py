"""The Porter stemmer of English words, with the extensions of NLTK that the package rouge-score uses.

Porter 1980, An algorithm for suffix stripping. Snowball's `porter`, without the extensions, has other stems for about
one word in seventy: "day" -> "dai", "thankfully" -> "thankfulli".
"""

import functools
from collections.abc import Sequence

VOWELS = frozenset("aeiou")
IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
}
UNCHANGED = frozenset({"sky", "news", "howe", "inning", "outing", "canning", "proceed", "exceed", "succeed"})
Rules = Sequence[tuple[str, str]]
"""Suffixes, and what takes their place. The first one that a word ends with is used, or none is."""
PLURALS: Rules = (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", ""))
SUFFIX_PAIRS: Rules = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble")),
    *(("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate")),
    *(("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful")),
)
DERIVED: Rules = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")),
)
REMOVED = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate"),
    *("iti", "ous", "ive", "ize"),
)


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if word in IRREGULAR or word in UNCHANGED or len(word) <= 2:
        return IRREGULAR.get(word, word)
    for step in (_step_1a, _step_1b, _step_1c, _step_2, _step_3, _step_4, _step_5):
        word = step(word)
    return word


def shape(word: str) -> str:
    """c for each consonant, v for each vowel; y is a vowel after a consonant."""
    letters = ""
    for letter in word:
        is_vowel = letter in VOWELS or (letter == "y" and letters.endswith("c"))
        letters += "v" if is_vowel else "c"
    return letters


def measure(word: str) -> int:
    """m of [C](VC)^m[V]: how often consonants follow vowels."""
    return shape(word).count("vc")


def _replace(word: str, rules: Rules, min_measure: int = 0) -> str:
    """The word with another suffix, if what precedes its suffix has at least this measure."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            start = word[: -len(suffix)]
            return start + replacement if measure(start) >= min_measure else word
    return word


def _ends_cvc(word: str) -> bool:
    """Whether a word ends with consonant, vowel, consonant, as "hop"; of two letters, with vowel, consonant."""
    letters = shape(word)
    return letters == "vc" or (letters.endswith("cvc") and word[-1] not in "wxy")


def _step_1a(word: str) -> str:
    return word[:-1] if word.endswith("ies") and len(word) == 4 else _replace(word, PLURALS)


def _step_1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return _replace(word, (("eed", "ee"),), 1)
    for suffix in ("ed", "ing"):
        start = word.removesuffix(suffix)
        if start != word and "v" in shape(start):
            return _restore_ending(start)
    return word


def _restore_ending(start: str) -> str:
    """What is left of "sized", "hopping" and "filing" as size, hop and file."""
    if start.endswith(("at", "bl", "iz")):
        return start + "e"
    if len(start) > 1 and start[-1] == start[-2] and shape(start)[-1] == "c":
        return start if start[-1] in "lsz" else start[:-1]
    return start + "e" if measure(start) == 1 and _ends_cvc(start) else start


def _step_1c(word: str) -> str:
    is_after_consonant = len(word) > 2 and shape(word[:-1])[-1] == "c"
    return word[:-1] + "i" if word.endswith("y") and is_after_consonant else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and measure(word[:-4]):
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if measure(word[:-3]) else word
    return _replace(word, SUFFIX_PAIRS, 1)


def _step_3(word: str) -> str:
    return _replace(word, DERIVED, 1)


def _step_4(word: str) -> str:
    suffix = next((suffix for suffix in REMOVED if word.endswith(suffix)), "")
    start = word.removesuffix(suffix)
    if measure(start) < 2 or (suffix == "ion" and start[-1] not in "st"):
        return word
    return start


def _step_5(word: str) -> str:
    start = word.removesuffix("e")
    if start != word and (measure(start) > 1 or (measure(start) == 1 and not _ends_cvc(start))):
        word = start
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word
