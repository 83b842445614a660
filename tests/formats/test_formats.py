"""Files to pairs: nothing shifts, every complaint has a file and a line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats import Pair, read_lines, read_pairs

LINE = st.text(st.characters(exclude_characters="\0\n\r\ufeff", exclude_categories=["Cs"]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(LINE, LINE), min_size=1), st.booleans())
def test_lines_are_cut_at_line_feeds_alone(tmp_path_factory, rows, final_newline):
    folder = tmp_path_factory.mktemp("x")
    for name, side in (("a.en", 0), ("a.fr", 1)):
        text = "\n".join(row[side] for row in rows) + "\n"
        (folder / name).write_bytes(text.encode() if final_newline or not rows[-1][side] else text[:-1].encode())
    pairs = list(read_pairs([folder / "a.en", folder / "a.fr"]))
    assert [(p.source, p.target) for p in pairs] == rows
    assert pairs[-1].location == f"{folder / 'a.en'}:{len(rows)}"


def test_marks_inside_a_line_do_not_cut_it(tmp_path):
    (tmp_path / "a").write_bytes("one\u2028two\u0085three\x0bfour\r\nlast".encode())
    assert list(read_lines(tmp_path / "a")) == ["one\u2028two\u0085three\x0bfour", "last"]


def test_a_byte_order_mark_is_not_text(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffone\n\ufefftwo\n".encode())
    assert list(read_lines(tmp_path / "a")) == ["one", "\ufefftwo"]


def test_unequal_files_are_refused_with_both_counts(tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n4\n5\n")
    (tmp_path / "b").write_text("1\n2\n3")
    with pytest.raises(FormatError, match=r"b has 3 lines, .*a has 5; .* Line 4 of .*a has no partner"):
        list(read_pairs([tmp_path / "a", tmp_path / "b"]))
    with pytest.raises(FormatError, match=r"b has 3 lines, .*a has 5"):
        list(read_pairs([tmp_path / "b", tmp_path / "a"]))


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    (tmp_path / "a").write_bytes(b"fine\nd\xe9j\xe0 vu\n")
    (tmp_path / "b").write_bytes(b"fine\nfine\n")
    with pytest.raises(FormatError, match=r"a:2: not UTF-8: byte 2 of the line is 0xe9.*iconv"):
        list(read_pairs([tmp_path / "a", tmp_path / "b"]))


def test_utf16_is_recognised(tmp_path):
    (tmp_path / "a").write_bytes("déjà vu\n".encode("utf-16"))
    with pytest.raises(FormatError, match=r"a:1: not UTF-8.*iconv -f utf-16"):
        list(read_lines(tmp_path / "a"))


def test_tsv_takes_the_first_two_columns(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\tmore\n\tempty source\n", encoding="utf-8")
    assert list(read_pairs([tmp_path / "x.tsv"])) == [
        Pair("a", "b", f"{tmp_path / 'x.tsv'}:1"),
        Pair("", "empty source", f"{tmp_path / 'x.tsv'}:2"),
    ]
    (tmp_path / "x.tsv").write_text("a\tb\nno tab here\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"x.tsv:2: no tab; .*'no tab here'"):
        list(read_pairs([tmp_path / "x.tsv"]))


def test_what_cannot_be_pairs_is_refused(tmp_path):
    for name in ("a", "b", "x.tsv"):
        (tmp_path / name).touch()
    cases = [
        (["a", "b"], "are empty"),
        (["x.tsv"], "is empty"),
        (["a"], "expected two aligned text files or one .tsv"),
        (["a", "b", "a"], "expected two aligned text files or one .tsv"),
        (["a", "missing"], "missing: no such file"),
        ([".", "a"], "is a folder"),
        ([], "got nothing"),
    ]
    for names, message in cases:
        with pytest.raises(FormatError, match=message):
            list(read_pairs([tmp_path / name for name in names]))
