"""Lines of text: what is not UTF-8 is named by line and byte, and a document keeps what is not translated."""

import gzip
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats import Pair, files, open_document, text
from regard.formats.text import decode_line


@pytest.mark.parametrize(
    ("raw", "byte", "value", "encoding"),
    [
        (b"caf\xe9", 4, "e9", "latin1"),
        (b"\xff\xfea\x00", 1, "ff", "utf-16"),
        (b"\xff\xfeab", 1, "ff", "utf-16"),
        (b"\xfe\xff", 1, "fe", "utf-16"),
        (b"\xff", 1, "ff", "latin1"),
        (b"a\x00\xe9", 3, "e9", "utf-16"),
        (b"ab\xff\xfe", 3, "ff", "latin1"),
    ],
)
def test_what_is_not_utf8_is_named_by_its_byte(raw: bytes, byte: int, value: str, encoding: str):
    with pytest.raises(FormatError) as error:
        decode_line(raw, Path("x.txt"), 7)
    assert str(error.value) == (
        f"x.txt:7: not UTF-8: byte {byte} of the line is 0x{value}. Convert the file first, for instance with "
        f"`iconv -f {encoding} -t utf-8`."
    )


def test_a_mark_at_the_beginning_is_that_of_the_file_and_elsewhere_a_character():
    assert decode_line("\ufeffa".encode(), Path("x"), 1) == "a"
    assert decode_line("\ufeffa".encode(), Path("x"), 2) == "\ufeffa"
    with pytest.raises(FormatError, match="x:2: has a NUL byte"):
        decode_line(b"a\x00", Path("x"), 2)


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 1)])
def test_lines_without_a_partner_are_counted(tmp_path: Path, left: int, right: int):
    one, two = tmp_path / "x.en", tmp_path / "x.fr"
    one.write_text("a\n" * left)
    two.write_text("b\n" * (right - 1) + "b")
    short, long = (one, two) if left < right else (two, one)
    with pytest.raises(FormatError) as error:
        list(text.read(one, two))
    assert str(error.value) == (
        f"{short} has {min(left, right)} lines, {long} has {max(left, right)}; aligned files have the same number. "
        f"Line {min(left, right) + 1} of {long} has no partner."
    )


def test_pairs_know_their_lines_and_nothing_is_an_error(tmp_path: Path):
    one, two = tmp_path / "x.en", tmp_path / "x.fr"
    text.write(one, two, [Pair("a\u2028b", "c"), Pair("", "é")])
    assert one.read_bytes() == "a\u2028b\n\n".encode() and two.read_bytes() == "c\né\n".encode()
    assert list(text.read(one, two)) == [Pair("a\u2028b", "c", f"{one}:1"), Pair("", "é", f"{one}:2")]
    for path in (one, two):
        path.write_bytes(b"")
    with pytest.raises(FormatError, match=r"x\.en and .*x\.fr are empty; expected one sentence per line"):
        list(text.read(one, two))


def test_blank_lines_marks_and_line_ends_of_a_document_stay(tmp_path: Path):
    path = tmp_path / "x.txt"
    path.write_bytes("\ufeffa\r\n \r\nb\n\nc".encode())
    document = open_document(path)
    assert document.path == path
    assert [(s.source, s.location) for s in document.segments] == [
        ("a", f"{path}:1"),
        ("b", f"{path}:3"),
        ("c", f"{path}:5"),
    ]
    document.fill(["A", None, "C"])
    document.write(tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == "\ufeffA\r\n \r\n\n\nC".encode()
    plain = tmp_path / "y.txt"
    plain.write_bytes(b"a\nb\r")
    other = open_document(plain)
    other.fill(["\ufeffA", "B"])
    other.write(tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == "\ufeffA\nB\r".encode()
    for bad in ("x\ny", "x\r"):
        with pytest.raises(FormatError, match=r"y\.txt:2: its translation has a line end, which would shift all"):
            other.fill(["A", bad])
    assert other.check_segment(0, "x\ry") == ""  # inside of a line it ends none


@pytest.mark.parametrize("name", ["x.po", "x.xlf"])
def test_a_document_knows_its_file(tmp_path: Path, name: str):
    content = {"x.po": 'msgid "a"\nmsgstr ""\n', "x.xlf": "<xliff><file/></xliff>"}[name]
    (tmp_path / name).write_text(content)
    assert open_document(tmp_path / name).path == tmp_path / name


def test_compressed_files_have_a_suffix_in_any_case_and_no_time(tmp_path: Path):
    for name in ("a.txt.gz", "a.txt.GZ"):
        files.write(tmp_path / name, b"abc\n")
        raw = (tmp_path / name).read_bytes()
        assert gzip.decompress(raw) == b"abc\n" and raw[4:8] == bytes(4)  # RFC 1952: MTIME
        assert list(text.read_lines(tmp_path / name)) == ["abc"]
        assert files.format_suffix(tmp_path / name) == ".txt"
        assert files.strip_gzip_suffix(tmp_path / name) == tmp_path / "a.txt"
    files.write(tmp_path / "b.txt", b"abc\n")
    assert (tmp_path / "b.txt").read_bytes() == b"abc\n" and files.format_suffix(Path("B.TXT")) == ".txt"
    with files.open_binary(tmp_path / "a.txt.gz") as file:
        decompressed = file.raw
    assert decompressed._content.closed and decompressed._file.closed


def test_a_document_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.txt"
    path.write_bytes(b"x" * 30)
    monkeypatch.setattr(files, "BLOCK_BYTES", 7)
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 30)
    assert files.read_document(path) == b"x" * 30
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 29)
    with pytest.raises(FormatError, match=r"x\.txt: has more than 29 bytes, the limit of a document; split it"):
        files.read_document(path)


def test_text_does_not_expand_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "x.txt.gz"
    path.write_bytes(gzip.compress(b"x" * 30_000))
    size = path.stat().st_size
    for least, most, is_refused in ((30_000, 1, False), (29_999, 1, True), (0, 30_000 // size + 1, False)):
        monkeypatch.setattr(files, "MIN_BOMB_BYTES", least)
        monkeypatch.setattr(files, "MAX_EXPANSION", most)
        if is_refused:
            with pytest.raises(FormatError, match=f"expands to more than {most} times its size"):
                files.read_document(path)
        else:
            assert len(files.read_document(path)) == 30_000
