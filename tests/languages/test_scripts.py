"""Scripts of characters, by the names that Unicode gives them, and of languages."""

import itertools
import unicodedata
from collections import Counter

import pytest

from regard.languages.codes import are_confusable, are_variants, normalize_code
from regard.languages.identify import _known_codes, is_identifiable
from regard.languages.scripts import DEFAULT_LANGUAGE, SCRIPT_BLOCKS, SCRIPT_OF_CHAR, UNIQUE_SCRIPTS, scripts_of

NAMES = {script: (f"{script.upper()} ",) for script in SCRIPT_BLOCKS} | {
    "greek": ("GREEK ", "COPTIC "),
    "kana": ("HIRAGANA ", "KATAKANA ", "KATAKANA-", "HALFWIDTH KATAKANA"),
    "han": ("CJK UNIFIED ", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC "),
    "georgian": ("GEORGIAN ", "MODIFIER LETTER GEORGIAN "),
}
"""How the Unicode names of letters begin."""
RARE = (
    *((0x250, 0x2AF), (0x1D00, 0x1DBF), (0xAB00, 0xAB6F), (0xA640, 0xA8FF)),  # phonetic, historic, of minorities
    *((0x870, 0x8FF), (0x1C80, 0x1C8F), (0x2C60, 0x2DDF)),
    *((0x2071, 0x2184), (0xFB00, 0xFB4F), (0xFF9E, 0xFF9F)),  # raised, joined and half letters
    *((0xA960, 0xA97F), (0xD7B0, 0xD7FF), (0x10000, 0x1FFFF)),
)
"""Blocks that everyday text does not use."""
EDGES = {edge for blocks in SCRIPT_BLOCKS.values() for block in blocks for edge in block}
CODES = sorted({*range(0x3400), *range(0x3400, 0x33000, 97), *(edge + n for edge in EDGES for n in range(-3, 4))})


def test_a_letter_has_the_script_that_unicode_names():
    wrong, missing = [], []
    for code in CODES:
        char = chr(code)
        name, script = unicodedata.name(char, ""), SCRIPT_OF_CHAR[char]
        expected = [one for one, names in NAMES.items() if name.startswith(names)] if char.isalpha() else []
        if script and script not in expected:
            wrong.append(name)
        if expected and not script and not any(low <= code <= high for low, high in RARE):
            missing.append(name)
    assert (wrong, missing) == ([], [])


def test_what_is_no_letter_has_no_script():
    assert {SCRIPT_OF_CHAR[char] for char in "0 .,-%€∑「」।؟๑"} == {""}


@pytest.mark.parametrize(
    ("code", "scripts"),
    [
        *[("ru", ("cyrillic",)), ("ja", ("kana", "han")), ("ko", ("hangul", "han")), ("zh", ("han",))],
        *[("sr", ("cyrillic", "latin")), ("fr", ("latin",)), ("xx", ("latin",)), ("fa", ("arabic",))],
    ],
)
def test_languages_are_written_in_their_scripts(code: str, scripts: tuple[str, ...]):
    assert scripts_of(code) == scripts


def test_a_script_stands_for_a_language_that_is_usually_written_in_it():
    assert DEFAULT_LANGUAGE.keys() == SCRIPT_BLOCKS.keys() - {"latin"}
    assert all(scripts_of(code)[0] == script for script, code in DEFAULT_LANGUAGE.items())
    assert all(scripts_of(code) != ("latin",) and is_identifiable(code) for code in DEFAULT_LANGUAGE.values())
    users = Counter(script for code in _known_codes() for script in scripts_of(code)[:1])
    assert {script for script, count in users.items() if count == 1} == UNIQUE_SCRIPTS
    assert {"thai", "greek", "kana"} <= UNIQUE_SCRIPTS and not {"latin", "cyrillic", "arabic"} & UNIQUE_SCRIPTS


def test_variants_are_confusable_both_ways_and_most_languages_are_not():
    pairs = list(itertools.combinations(_known_codes(), 2))
    variants, confusable = ({pair for pair in pairs if test(*pair)} for test in (are_variants, are_confusable))
    assert all(are_variants(*pair[::-1]) for pair in variants) and all(
        are_confusable(*pair[::-1]) for pair in confusable
    )
    assert set() < variants < confusable and len(confusable) < len(pairs) / 20
    assert all(are_variants(code, code) and are_confusable(code, code) for code in _known_codes())
    assert are_variants("no", "nn") and are_confusable("no", "da") and not are_variants("no", "da")
    assert not any(are_confusable("en", code) for code in ("fr", "no", "de", "id", "ru"))


def test_the_code_of_a_code_is_itself():
    for code in _known_codes():
        assert normalize_code(code) == code == normalize_code(f" {code.upper()}-XX ")
    assert {normalize_code(name) for name in ("jpn", "JP", "ja_JP")} == {"ja"} and normalize_code("eng-Latn") == "en"
