"""Documents: every character of a file is in one of them, or is what separates two."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats.document_texts import read_documents

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00\n")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


def texts(path, **options) -> list[str]:
    return [document.text for document in read_documents([path], **options)]


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_a_file_is_read_as_it_was_written(tmp_path_factory, text: str):
    path = tmp_path_factory.mktemp("written") / "x.txt"
    path.write_bytes(("a" + text).encode())
    assert texts(path) == ["a" + text]


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(st.text(LETTERS).filter(lambda text: not text.endswith("\r")), min_size=1))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_lines_and_paragraphs_are_read_as_they_were_written(tmp_path_factory, lines, line_end):
    lines = ["a" + line for line in lines]
    path = tmp_path_factory.mktemp("written") / "x.txt"
    path.write_bytes(line_end.join(lines).encode())
    assert texts(path, separator="line") == lines
    assert texts(path, separator="blank-line") == [line_end.join(lines)]
    path.write_bytes((2 * line_end).join(lines).encode())
    assert texts(path, separator="blank-line") == lines


def test_locations_are_lines(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a\nb\n \n\n\nc\n")
    blocks = list(read_documents([path], separator="blank-line"))
    assert [(block.text, block.location) for block in blocks] == [("a\nb", f"{path}:1"), ("c", f"{path}:6")]
    lines = list(read_documents([path], separator="line"))
    assert [(line.text, line.location) for line in lines] == [
        (t, f"{path}:{n}") for t, n in (("a", 1), ("b", 2), ("c", 6))
    ]


def test_a_folder_is_read_in_order_of_names_and_without_empty_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, text in (("b.txt", "two"), ("a.txt", "one\n"), ("sub/c.txt", "three"), ("e.txt", " \n"), ("x.md", "no")):
        (tmp_path / name).write_text(text)
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"four"))
    assert texts(tmp_path) == ["one\n", "two", "four", "three"]


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "x.txt").write_bytes("\ufeffa\r\n".encode())
    assert texts(tmp_path / "x.txt") == ["a\r\n"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"", "x.txt: is empty; expected plain text in UTF-8"),
        ("x.txt", b" \n\n", "x.txt: is empty"),
        ("x.txt", b"a\nb\xff\n", "x.txt:2: not UTF-8: byte 2 of the line is 0xff"),
        ("x.txt", b"a\n\x00\n", "x.txt:2: has a NUL byte"),
        ("x.txt", b"%PDF-1.4\n", "x.txt: a PDF document"),
        ("x.pdf", b"a", r"x.pdf: a document \(.pdf\), which is not supported"),
        ("x.txt.gz", b"a", "not a complete gzip file"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        texts(tmp_path / name)


def test_a_folder_without_text_is_refused(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        texts(tmp_path / "none")
    with pytest.raises(FormatError, match=r"has no \.txt files"):
        texts(tmp_path)
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(FormatError, match="has no text"):
        texts(tmp_path)
