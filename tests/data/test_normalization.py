"""Two sources are the same whatever their case, blanks and Unicode forms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.normalization import hash_source, normalize_source

TWINS = [
    ("It's late.", "  IT'S\t\tlate. "),
    ("Où est-il ?", "OÙ EST-IL\u00a0?"),
    ("Été", "E\u0301te\u0301"),
    ("Straße", "STRASSE"),
    ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ("ﬁne", "fine"),
    ("Ｔｏｋｙｏ　１２", "tokyo 12"),
    ("ｶﾀｶﾅ", "カタカナ"),
    ("co\u00adoperate", "cooperate"),
    ("\ufeffword\u200b", "word"),
    ("x²", "X2"),
]


@pytest.mark.parametrize(("one", "two"), TWINS)
def test_twins_are_the_same(one: str, two: str):
    assert normalize_source(one) == normalize_source(two) and hash_source(one, 7) == hash_source(two, 7)


@pytest.mark.parametrize(("one", "two"), [("a b", "ab"), ("résumé", "resume"), ("late.", "late"), ("3 < 4", "3 > 4")])
def test_what_differs_in_letters_or_punctuation_is_not(one: str, two: str):
    assert normalize_source(one) != normalize_source(two) and hash_source(one) != hash_source(two)


@given(st.text())
def test_normalizing_twice_changes_nothing_and_no_form_matters(text: str):
    normal = normalize_source(text)
    assert normalize_source(normal) == normal and normalize_source(f" {text}\n") == normal
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert normalize_source(unicodedata.normalize(form, text)) == normal


def test_the_hash_depends_on_the_seed_and_takes_half_characters():
    assert hash_source("a", 1) != hash_source("a", 2) and 0 <= hash_source("\ud800") < 2**64
