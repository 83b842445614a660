"""Plain text as a document, and which file is which kind of document."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats import Segment, open_document, read_lines

LINE = st.text(st.characters(exclude_characters="\0\n\r\ufeff", exclude_categories=["Cs"]), min_size=1)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINE, min_size=1), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_text_is_filled_line_by_line(tmp_path_factory, rows, end, final, mark):
    folder = tmp_path_factory.mktemp("x")
    path = folder / "x.txt"
    path.write_bytes(("\ufeff" * mark + end.join(rows) + end * final).encode())
    document = open_document(path, "en", "fr")
    assert [segment.source for segment in document.segments] == [row for row in rows if row.strip()]
    document.fill([segment.source for segment in document.segments])
    document.write(folder / "out.txt")
    assert (folder / "out.txt").read_bytes() == path.read_bytes()
    document.fill([segment.source[::-1] for segment in document.segments])
    document.write(folder / "out.txt")
    assert list(read_lines(folder / "out.txt")) == [row[::-1] if row.strip() else row for row in rows]


def test_blank_lines_stay_and_unfilled_ones_are_empty(tmp_path):
    path = tmp_path / "x.md"
    path.write_text("one\n\n  \ntwo\n")
    document = open_document(path)
    assert document.segments == [Segment("one", f"{path}:1"), Segment("two", f"{path}:4")]
    document.fill(["un", None])
    document.write(tmp_path / "out" / "x.md.gz")
    assert gzip.decompress((tmp_path / "out" / "x.md.gz").read_bytes()) == b"un\n\n  \n\n"
    assert (tmp_path / "out" / "x.md.gz").read_bytes()[4:8] == bytes(4)  # no time stamp: same document, same bytes
    for bad in ("u\nn", "un\r"):
        with pytest.raises(FormatError, match=r"x.md:1: its translation has a line end"):
            document.fill([bad, None])


def test_only_some_files_can_be_translated(tmp_path):
    for name, message in {
        "x.tmx": r"x.tmx: .tmx holds translated pairs; expected .po, .xlf or plain text",
        "x.tsv.gz": r".tsv holds translated pairs",
        "folder.po": r"folder.po: is a folder; expected a file",
        "missing.po": r"missing.po: no such file",
    }.items():
        if name.startswith("x"):
            (tmp_path / name).touch()
        (tmp_path / "folder.po").mkdir(exist_ok=True)
        with pytest.raises(FormatError, match=message):
            open_document(tmp_path / name)
    (tmp_path / "x.txt").write_bytes(b"ok\n\xff")
    with pytest.raises(FormatError, match=r"x.txt:2: not UTF-8"):
        open_document(tmp_path / "x.txt")
