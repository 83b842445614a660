"""Text and tables fit their width, whatever is in them, and no word is cut that has room on a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.display.layout import Column, bind, format_table, join_fields, wrap, wrap_command
from regard.report.text import display_width

WORDS = st.text(alphabet="abcé日e\u0301|/", min_size=1, max_size=30)


@given(st.lists(WORDS, max_size=12), st.integers(20, 90))
def test_lines_fit_and_hold_every_character(words, width):
    lines = wrap(" ".join(words), width, "  ", "    ")
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(words)


@given(st.lists(st.text(alphabet="abcdefg", min_size=1, max_size=14), max_size=12), st.integers(20, 90))
def test_no_word_is_cut(words, width):
    assert " ".join(wrap(" ".join(words), width)).split() == words


@pytest.mark.parametrize("letter", ["x", "日", "e\u0301"])
def test_a_word_of_millions_of_letters_fills_its_lines(letter: str):
    lines = wrap(letter * 1_000_000, 41)
    assert "".join(lines) == letter * 1_000_000
    assert {display_width(line) for line in lines[:-1]} == {41 - 41 % display_width(letter)}


def test_what_is_bound_stays_on_one_line():
    text = f"the score of the model is {bind('BLEU 67.5 ± 6.3')} today"
    assert any("BLEU 67.5 ± 6.3" in line for line in wrap(text, 32)) and "\ue000" not in "".join(wrap(text, 32))


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120])
def test_a_table_fits_by_wrapping_folding_and_leaving_out(width: int):
    columns = [
        Column("kind"),
        Column("finding", wraps=True),
        Column("pairs", right=True),
        Column("entropy", drops=1),
        Column("lines", below=True),
    ]
    row = ["metadata", "a line of markup or metadata instead of a sentence", "1,234", "0.25", "train.en:12, 57, 99"]
    lines = format_table(columns, [row, row], width)
    assert all(display_width(line) <= width for line in lines)
    text = " ".join(" ".join(lines).split())
    assert text.count("1,234") == 2 and text.count("train.en:12") == 2
    if width == 120:
        assert len(lines) == 3 and text.count("0.25") == 2
    elif width == 40:
        assert "(a wider terminal also shows entropy)" in text and text.count("lines: train.en:12, 57, 99") == 2


def test_a_long_command_can_be_copied_and_a_short_one_is_one_line():
    command = "regard compare runs/one-with-a-long-name runs/another-with-a-long-name --on test.en test.fr"
    lines = wrap_command(command, 60)
    assert len(lines) > 1 and all(line.endswith(" \\") for line in lines[:-1])
    assert " ".join(" ".join(line.removesuffix("\\") for line in lines).split()) == command
    assert wrap_command("regard settings", 60) == ["  regard settings"]


def test_fields_that_do_not_fit_are_left_out_from_the_end():
    assert join_fields(["step 1", "", "loss 2", "1 token/s"], 16) == "step 1  loss 2"
