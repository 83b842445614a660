"""Files that are no text of sentences, recognized by how they begin, not by their name."""

import codecs
import re
from pathlib import Path

from regard.errors import FormatError

PLAIN_TEXT = "plain text in UTF-8, with one sentence per line"

MAGIC_BYTES = {
    b"PK\x03\x04": "a ZIP archive, as .docx, .xlsx, .odt and .epub are",
    b"PK\x05\x06": "an empty ZIP archive",
    b"%PDF-": "a PDF document",
    b"\x1f\x8b": "compressed with gzip; its name must end in .gz",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document",
    b"{\\rtf": "an RTF document",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x7fELF": "a program",
    b"MZ\x90\x00": "a program",
    b"\xfe\xed\xfa": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"!<arch>": "a library",
    b"\xde\x12\x04\x95": "a compiled catalog (.mo); give the .po",
    b"\x95\x04\x12\xde": "a compiled catalog (.mo); give the .po",
    b"\x89PNG\r\n": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"RIFF": "sound or video",
    b"ID3": "sound",
    b"OggS": "sound",
    b"\x93NUMPY": "an array of NumPy",
    b"PAR1": "a Parquet table",
}


FIRST_LINES = {
    re.compile(r"WEBVTT(?!\S)"): "subtitles",
    re.compile(r"(?:\d\d:)?\d\d:\d\d[,.]\d{3} --> (?:\d\d:)?\d\d:\d\d[,.]\d{3}"): "subtitles",
    re.compile(r"<\?xml(?!\S)"): "XML; its name must end in .xlf or .tmx if it is one of them",
    re.compile(r"<(?:!doctype|html)(?![^\s>])", re.IGNORECASE): "HTML",
}
MAX_FIRST_LINES = 3
"""Lines that show what a file is: subtitles have a number before the first time."""


def require_text(raw: bytes, path: Path, expected: str = PLAIN_TEXT) -> None:
    """Refuse a file that begins with the bytes of something else than text."""
    if kind := identify_binary(raw[:4096].partition(b"\n")[0]):
        raise FormatError(f"{path}: {kind}; expected {expected}")


def require_sentences(line: str, number: int, path: Path) -> None:
    """Refuse a text whose first lines show that it is not one sentence per line."""
    if number > MAX_FIRST_LINES:
        return
    if kind := next((kind for pattern, kind in FIRST_LINES.items() if pattern.match(line)), ""):
        raise FormatError(f"{path}:{number}: {kind}; expected {PLAIN_TEXT}")


def identify_binary(line: bytes) -> str:
    """What a file is that begins with this line; empty if it may be text."""
    for magic, kind in MAGIC_BYTES.items():
        if line.startswith(magic) and (not magic.isalnum() or _is_binary(line)):
            return kind
    return ""


def _is_binary(line: bytes) -> bool:
    """Whether a line is no text, although it begins with letters: "ID3 is a tag." is a sentence."""
    try:
        return "\x00" in codecs.getincrementaldecoder("utf-8")().decode(line)  # a character may be cut at its end
    except UnicodeDecodeError:
        return True
