"""The words of scripts with blanks: hyphens join, elisions and marks stand alone, accents belong to their letters."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.languages import count_words, split_words, word_spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'homme a vu vingt-deux œufs.", "L' homme a vu vingt-deux œufs ."),
        ("Est-ce qu'elle dort\u00a0?", "Est-ce qu' elle dort ?"),
        ("Aujourd'hui, j’ai faim\u202f!", "Aujourd'hui , j’ ai faim !"),
        ("The teacher's dog (a_b).", "The teacher 's dog ( a _ b ) ."),
        ("Qu'est-ce que c'est...", "Qu' est-ce que c' est . . ."),
        ("e\u0301te\u0301 - 3,5", "e\u0301te\u0301 - 3 , 5"),
        ("I don't think we’re late; she'd CAN'T", "I don't think we ’re late ; she 'd CAN'T"),
        ("नमस्ते दुनिया।", "नमस्ते दुनिया ।"),
        ("", ""),
    ],
)
def test_words(text: str, expected: str):
    assert split_words(text) == expected.split()


@given(st.text(alphabet="abé' ’-.,_?\u00a0\t7", max_size=40))
def test_spans_are_the_words_and_leave_out_only_space(text: str):
    assert [text[start:end] for start, end in word_spans(text)] == split_words(text)
    assert "".join(split_words(text)) == "".join(text.split())
    assert count_words(text) == len(text.split())


def test_a_letter_and_any_of_its_marks_are_one_word():
    marks = [chr(code) for code in range(0x0300, 0x1E00) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    assert (
        len(marks) > 1000 and [mark for mark in marks if split_words(f"x a{mark}b y") != ["x", f"a{mark}b", "y"]] == []
    )
