"""Each check on both sides, at its threshold and just before it."""

import itertools

import pytest

from regard.data.doctor.checks import (
    LENGTH_SMOOTHING,
    PAIR_CHECKS,
    LanguageCheck,
    LengthRatioCheck,
    MaxLengthCheck,
    describe_placeholder_difference,
)
from regard.data.doctor.language_id import AnyLanguage, ExpectedLanguage

FINE = "A sentence of words."
FOUND = {
    "blank": ["", " \t\u00a0"],
    "metadata": ["<p>", "<BR>", " <p> ", "<url>x</url>", "</x>", "<x y='1'>", "<TITLE>x</TITLE> ", "<!-- x -->"],
    "wordless": ["?!", "_"],
    "separator": ["a\u2028b", "a\rb", "a\x85b", "a\x1cb"],
    "control": ["a\x00b", "a\x1bb", "a\x7fb", "a\x9fb", "a\x08b", "a\x1fb"],
    "bom": ["\ufeffa", "a\ufeff"],
    "mojibake": ["cafÃ©", "Â« a", "itâ€™s", "a\ufffdb"],
    "unnormalized": ["cafe\u0301"],
    "entity": ["a &amp; b", "&#65;", "&#x41;", "&#X41;"],
    "tokenized": ["a ."],
    "placeholder": ["{x} words", "%s words"],
}
UNFOUND = {
    "blank": [".", "\u200b"],
    "metadata": ["<tree-ish>", "a <p>", "<b>x</b>", "<B>x</B>", "3 < 4", "<x> <y>"],
    "wordless": ["1?", "a", "é"],
    "separator": ["a\nb", "a\tb", "a\x1fb"],
    "control": ["a\tb", "a\nb", "a\x85b", "a\x0bb", "a\u2028b"],
    "bom": ["a"],
    "mojibake": ["Ã", "Âme", "câlin", "café", "â€"],
    "unnormalized": ["café"],
    "entity": ["R&D;", "a & b", "&;", "&#x;", "&a;"],
    "tokenized": ["a. ", "a .b", "."],
    "placeholder": ["<b> words", "10 % of it", "https://x.org/a", "a: b", "&File"],
}


@pytest.mark.parametrize("name", FOUND)
def test_what_is_wrong_on_either_side_is_found_and_what_is_near_it_is_not(name: str):
    check = PAIR_CHECKS[name]
    for text in FOUND[name]:
        assert check(text, FINE) is True and check(FINE, text) is True, text
    for text in UNFOUND[name]:
        assert check(text, FINE) is False and check(FINE, text) is False, text
    assert check(FINE, FINE) is False


@pytest.mark.parametrize(
    ("source", "target", "is_identical", "is_same"),
    [
        ("the dog and a cat", "the dog and a cat", True, False),
        (" The Dog and A cat ", "The Dog and A cat", True, False),
        ("the dog and cat", "the dog and cat", False, True),  # four words
        ("the dog cat bird cow", "the dog cat bird cow", False, True),  # one function word
        ("the dog and a cat", "the dog and a bat", False, False),
    ],
)
def test_a_copy_of_five_words_and_two_function_words_is_a_sentence(source, target, is_identical: bool, is_same: bool):
    for one, two in ((source, target), (target, source)):
        assert PAIR_CHECKS["identical"](one, two) is is_identical and PAIR_CHECKS["same"](one, two) is is_same


@pytest.mark.parametrize(("text", "is_wordless"), [("abc", True), ("ab", False), ("ab1_", False), ("", False)])
def test_three_letters_have_no_translation_without_any(text: str, is_wordless: bool):
    for one, two in ((text, "?!"), ("?!", text)):
        assert PAIR_CHECKS["wordless"](one, two) is is_wordless


@pytest.mark.parametrize(
    ("source", "target", "is_metadata"),
    [
        ("<a1>x</a1>", "<a1>y</a1>", False),
        ("<a1>x</a1>", "<a1>x</a1>", True),
        ("<a1>x</a1>", "<b1>y</b1>", True),
        ("<a1>x</a1>", "y", False),
        ("<a1>x</a1>", "<B>y</B>", False),
        ("<I>x</I>", "<b>x</b>", False),
        ("<Speaker>x</Speaker>", "y", True),
        ("<a1>x</a1> ", " <a1>x</a1>", True),
    ],
)
def test_an_element_is_content_where_it_was_translated(source: str, target: str, is_metadata: bool):
    for one, two in ((source, target), (target, source)):
        assert PAIR_CHECKS["metadata"](one, two) is is_metadata


@pytest.mark.parametrize("usual", [1.0, 0.5, 2.0])
def test_a_ratio_is_far_beyond_its_threshold_on_either_side(usual: float):
    check = LengthRatioCheck(max_ratio=4.0, usual_ratio=usual)
    for source, target in itertools.product((5, 85, 145), range(1000)):
        one, two = (source + LENGTH_SMOOTHING) * usual, target + LENGTH_SMOOTHING
        assert check("x" * source, "y" * target) == (max(one / two, two / one) > 4.0), (source, target)


def test_a_text_may_have_the_greatest_length():
    check = MaxLengthCheck(7)
    for one, two in itertools.product(range(10), repeat=2):
        assert check("x" * one, "y" * two) == (max(one, two) > 7)


def test_placeholders_of_one_side_are_told():
    assert describe_placeholder_difference("{b} %s {a}", "words") == "only in the source: %s {a} {b}"
    assert describe_placeholder_difference("words", "{a}") == "only in the target: {a}"
    assert describe_placeholder_difference("{a}", "{b}") == "only in the source: {a}, only in the target: {b}"
    assert describe_placeholder_difference("{a} {b}", "{b} {a}") == ""
    assert PAIR_CHECKS["placeholder"]("{a} {b}", "{b} {a}") is False
    assert PAIR_CHECKS["placeholder"]("$name", "words") and PAIR_CHECKS["placeholder"]("@count", "words")


def test_each_side_has_its_language():
    check = LanguageCheck(ExpectedLanguage("en"), ExpectedLanguage("fr"))
    english = "He is in the house with the children of my friend."
    french = "Il est dans la maison avec les enfants de mon ami."
    assert not check(english, french) and check(french, french) and check(english, english) and check(french, english)
    assert check.describe(french, english) == "source looks like fr, target looks like en"
    assert check.describe(english, english) == "target looks like en" and check.describe(english, french) == ""
    assert not LanguageCheck(AnyLanguage(), AnyLanguage())(french, english)
