"""Cheap summaries are what their names say, of documents that no model has read."""

import pytest

from regard.baselines.summaries import (
    FirstPersonSentence,
    FirstSentence,
    FrequentWords,
    Title,
    fit_summary_opponents,
)
from regard.formats.summaries import SummarizedDocument

DOCUMENT = SummarizedDocument(("It rains.", "This week is wet.", "WE dry it.", "So we end."), ("dry",), "On rain")
EMPTY = SummarizedDocument((), ("nothing",))


def test_the_first_sentence_and_the_first_one_that_says_what_is_done():
    assert FirstSentence().summarize(DOCUMENT) == "It rains." and FirstSentence().summarize(EMPTY) == ""
    assert FirstPersonSentence().summarize(DOCUMENT) == "WE dry it."  # and not "This week", which has other words
    paper = SummarizedDocument(("It rains.", "In This Paper, rain."), ("dry",))
    assert FirstPersonSentence().summarize(paper) == "In This Paper, rain."
    without = SummarizedDocument(("It rains.", "So it ends."), ("dry",))
    assert FirstPersonSentence().summarize(without) == "It rains." and FirstPersonSentence().summarize(EMPTY) == ""
    assert Title().summarize(DOCUMENT) == "On rain" and Title().summarize(EMPTY) == ""


def test_frequent_words_are_as_many_as_a_summary_has_and_the_same_for_all():
    words = FrequentWords.fit(["b a a", "a c b d", "a"])  # 8 words in 3 summaries
    assert words.words == ("a", "b", "c") and words.name == "the 3 most frequent words"
    assert words.summarize(DOCUMENT) == words.summarize(EMPTY) == "a b c"
    assert FrequentWords.fit(["x x x", "y", "y z"]).words == ("x", "y")  # of equally many by their letters
    assert FrequentWords.fit([""]).words == () and FrequentWords.fit(["Ünder ÜNDER"]).words == ("ünder",) * 1


@pytest.mark.parametrize(
    ("has_titles", "is_english", "expected"),
    [
        (True, True, ["first sentence", 'first sentence with "we"', "title"]),
        (False, True, ["first sentence", 'first sentence with "we"']),
        (True, False, ["first sentence", "title"]),
    ],
)
def test_opponents_suit_the_documents(has_titles: bool, is_english: bool, expected: list[str]):
    opponents = fit_summary_opponents(["a b", "a"], has_titles, is_english)
    assert [one.name for one in opponents] == [*expected, "the 2 most frequent words"]
