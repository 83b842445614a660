"""A file that is translated and goes back to its owner: ask what it wants, fill it, write it.

    document = open_document("fr.po", "en", "fr")
    texts = [translate(segment.source) for segment in document.segments]
    document.fill([
        None if broken(segment.source, text, segment.flags) or document.objection(number, text) else text
        for number, (segment, text) in enumerate(zip(document.segments, texts, strict=True))
    ])
    document.write(Path("fr.po"))

Existing translations, comments, order and line ends stay as they are, byte for byte.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from regard.errors import FormatError
from regard.formats import files
from regard.formats.pair import Segment
from regard.formats.po import PoDocument
from regard.formats.text import TextDocument
from regard.formats.xliff import SUFFIXES, XliffDocument


class Document(Protocol):
    """What every translatable file can do."""

    path: Path
    segments: list[Segment]
    """What wants a translation, in order."""

    def fill(self, translations: Sequence[str | None]) -> None:
        """Give each segment its translation; one that gets None or nothing stays empty."""

    def check_segment(self, number: int, text: str) -> str:
        """Why a text cannot stand as the translation of a segment; empty where it can."""

    def write(self, out: Path) -> None:
        """Write the document with its translations; the file that was opened may be written over."""


DOCUMENTS: dict[str, Callable[[Path, str, str], Document]] = {
    ".po": PoDocument,
    ".pot": PoDocument,
    **dict.fromkeys(SUFFIXES, XliffDocument),
}
BILINGUAL_SUFFIXES = (".tsv", ".jsonl", ".tmx")


def open_document(path: str | Path, source: str = "", target: str = "") -> Document:
    """A PO, XLIFF or plain text file, by its name, to be translated from one language to the other."""
    file = Path(path)
    suffix = files.format_suffix(file)
    if not file.exists():
        raise FormatError(f"{file}: no such file")
    if file.is_dir():
        raise FormatError(f"{file}: is a folder; expected a file")
    if suffix in BILINGUAL_SUFFIXES:
        raise FormatError(f"{file}: {suffix} holds pairs already; expected .po, .xlf or plain text to translate")
    return DOCUMENTS.get(suffix, TextDocument)(file, source, target)
