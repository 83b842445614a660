"""Binary content is refused in one sentence, whatever the name of the file is."""

import gzip
import io
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

from regard.cli.streams import decode_lines
from regard.errors import FormatError
from regard.formats import open_document, read_lines, read_pairs
from regard.formats.binary import MAGIC_BYTES, identify_binary


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", "<w:t>One.</w:t>")
    return buffer.getvalue()


def database(folder: Path) -> bytes:
    connection = sqlite3.connect(folder / "x.db")
    connection.execute("create table t (x)")
    connection.commit()
    connection.close()
    return (folder / "x.db").read_bytes()


CASES = {
    "docx": (lambda folder: zipped(), "a ZIP archive, as .docx, .xlsx, .odt and .epub are"),
    "pdf": (lambda folder: b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n", "a PDF document"),
    "gzip": (lambda folder: gzip.compress(b"One.\n"), r"compressed with gzip; its name must end in \.gz"),
    "sqlite": (database, "an SQLite database"),
    "elf": (lambda folder: Path(sys.executable).resolve().read_bytes()[:5000], "a program"),
    "mo": (lambda folder: b"\xde\x12\x04\x95\0\0\0\0", r"a compiled catalog \(\.mo\); give the \.po"),
    "sound": (lambda folder: b"ID3\x04\0\0\xff\xfb", "sound"),
    "nul": (lambda folder: b"One\0two.\n", "NUL byte, as binary files and UTF-16 do"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_as_text(tmp_path: Path, name: str):
    make, kind = CASES[name]
    path, other = tmp_path / "train.txt", tmp_path / "train.fr"
    path.write_bytes(make(tmp_path))
    other.write_text("Un.\n")
    for door in (lambda: list(read_lines(path)), lambda: open_document(path), lambda: list(read_pairs([path, other]))):
        with pytest.raises(FormatError, match=rf"train\.txt(:1)?: .*{kind}.*expected plain text in UTF-8") as error:
            door()
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", [".po", ".pot", ".xlf", ".tmx", ".tsv", ".jsonl"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "nul"])
def test_it_is_refused_under_the_name_of_another_format(tmp_path: Path, name: str, suffix: str):
    make, kind = CASES[name]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(make(tmp_path))
    doors = [lambda: list(read_pairs([path], "en", "fr"))]
    doors += [lambda: open_document(path, "en", "fr")] if suffix in (".po", ".pot", ".xlf") else []
    for door in doors:
        with pytest.raises(FormatError, match=rf"x\{suffix}: {kind}; expected "):
            door()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n00:00:01,000 --> 00:00:02,500\nHello.\n", "x:2: subtitles; expected plain text"),
        ("\ufeffWEBVTT\n\n00:01.000 --> 00:02.000\nHello.\n", "x:1: subtitles; expected plain text"),
        ('<?xml version="1.0"?>\n<xliff/>\n', r"x:1: XML; its name must end in \.xlf or \.tmx if"),
        ("<!DOCTYPE html>\n<html></html>\n", "x:1: HTML; expected plain text"),
    ],
)
def test_text_that_is_no_list_of_sentences_is_refused_under_any_name(tmp_path: Path, text: str, message: str):
    path = tmp_path / "x"
    path.write_text(text, encoding="utf-8")
    for door in (lambda: list(read_lines(path)), lambda: open_document(path)):
        with pytest.raises(FormatError, match=message):
            door()


@pytest.mark.parametrize("line", ["<url>x</url>", "<html-like> text", "WEBVTTs", "00:00:01,000 -> b", "<?xmlish"])
def test_a_sentence_that_begins_like_another_format_is_text(tmp_path: Path, line: str):
    (tmp_path / "x").write_text(f"One.\n{line}\n", encoding="utf-8")
    assert list(read_lines(tmp_path / "x")) == ["One.", line]


def test_a_nul_byte_is_found_in_any_line(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"One.\nTwo.\nThr\0ee.\n")
    with pytest.raises(FormatError, match=r"x:3: has a NUL byte"):
        list(read_lines(tmp_path / "x"))


@pytest.mark.parametrize("text", ["ID3 is a tag.", "GIF87 was early.", "RIFF, BZh and PAR1.", "PK", "OggS é", "", "MZ"])
def test_a_sentence_that_begins_like_a_binary_file_is_text(text: str):
    assert identify_binary(text.encode()) == ""


def test_no_magic_is_the_beginning_of_another():
    assert not [(a, b) for a in MAGIC_BYTES for b in MAGIC_BYTES if a != b and a.startswith(b)]


@pytest.mark.parametrize("name", ["docx", "pdf", "nul"])
def test_it_is_refused_as_standard_input(tmp_path: Path, name: str):
    make, kind = CASES[name]
    with pytest.raises(FormatError, match=rf"standard input(:1)?: .*{kind}.*expected plain text in UTF-8"):
        list(decode_lines(io.BytesIO(make(tmp_path))))


def test_a_byte_order_mark_of_standard_input_is_no_text():
    assert list(decode_lines(io.BytesIO("\ufeffOne.\r\n\ufeffTwo.".encode()))) == ["One.", "\ufeffTwo."]
