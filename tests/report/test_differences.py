"""Words of a text beside its reference: what differs is marked, and the texts stay what they are."""

import pytest

from regard.report import TranslationCard, TranslationCards
from regard.report.differences import MAX_COMPARED_WORDS, mark_differences


def marks(text: str, reference: str) -> list[list[tuple[str, str]]]:
    return [[part for part in side.parts if part[1]] for side in mark_differences(text, reference)]


def test_words_are_extra_missing_or_moved():
    written, wanted = marks("a black old cat sleeps", "an old black cat")
    assert written == [("a", "extra"), ("old", "moved"), ("sleeps", "extra")]
    assert wanted == [("an", "missing"), ("old", "moved")]


def test_equal_texts_have_no_marks_and_case_does_not_count():
    assert marks("The Cat.", "the cat.") == [[], []]


@pytest.mark.parametrize(
    "text", ["", "  two  spaces\tand\ntabs ", "‮<b>&\u2028", "我喜欢狗。", "שלום world", "a " * 400]
)
def test_nothing_of_a_text_is_lost(text: str):
    for side, original in zip(mark_differences(text, "the cat"), (text, "the cat"), strict=True):
        assert side.text == original


def test_very_long_texts_are_not_compared():
    text = "word " * MAX_COMPARED_WORDS
    assert marks(text, "other") == [[], []]


def test_cards_mark_and_explain_only_where_asked():
    card = TranslationCard("x", "a <cat>", "a dog")
    marked, plain = (TranslationCards([card], marked=wanted).html() for wanted in (True, False))
    assert '<mark class="extra" title="not in the reference">cat</mark>' in marked and "&lt;" in marked
    assert '<mark class="missing"' in marked and 'class="legend"' in marked
    assert "<mark" not in plain
    assert 'class="legend"' not in TranslationCards([card], marked=True, legend=False).html()


def test_several_systems_are_each_compared_with_the_reference():
    html = TranslationCards([TranslationCard("x", "a dog", "a dog", "", "new", [("old", "a cat")])], marked=True).html()
    assert ">old</dt>" in html and ">new</dt>" in html
    assert html.count('<mark class="extra" title') == 1 and html.count('<mark class="missing" title') == 0
