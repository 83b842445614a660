"""A file that is translated in place: list its untranslated segments, fill them in, write it.

    document = open_document("fr.po", "en", "fr")
    texts = [translate(segment.source) for segment in document.segments]
    document.fill([
        None if check_translation(segment.source, text, segment.flags) or document.check_segment(number, text) else text
        for number, (segment, text) in enumerate(zip(document.segments, texts, strict=True))
    ])
    document.write(Path("fr.po"))

Existing translations, comments, order and line ends are preserved byte for byte.
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
    """The interface of every translatable file."""

    path: Path
    segments: list[Segment]
    """The untranslated texts, in order."""

    def fill(self, translations: Sequence[str | None]) -> None:
        """Set the translation of each segment; one that is None or empty stays untranslated."""

    def check_segment(self, number: int, text: str) -> str:
        """Why a text cannot be the translation of a segment; empty if it can."""

    def write(self, out: Path) -> None:
        """Write the document with its translations; the file that was opened may be overwritten."""


DOCUMENTS: dict[str, Callable[[Path, str, str], Document]] = {
    ".po": PoDocument,
    ".pot": PoDocument,
    **dict.fromkeys(SUFFIXES, XliffDocument),
}
BILINGUAL_SUFFIXES = (".tsv", ".jsonl", ".tmx")


def open_document(path: str | Path, source: str = "", target: str = "") -> Document:
    """Open a PO, XLIFF or plain text file, by its suffix, to be translated from one language to the other."""
    file = Path(path)
    suffix = files.format_suffix(file)
    if not file.exists():
        raise FormatError(f"{file}: no such file")
    if file.is_dir():
        raise FormatError(f"{file}: is a folder; expected a file")
    if suffix in BILINGUAL_SUFFIXES:
        raise FormatError(f"{file}: {suffix} holds translated pairs; expected .po, .xlf or plain text to translate")
    return DOCUMENTS.get(suffix, TextDocument)(file, source, target)
