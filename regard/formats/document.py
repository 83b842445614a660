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
from typing import Protocol, runtime_checkable

from regard.errors import FormatError
from regard.formats import files
from regard.formats.pair import Segment
from regard.formats.po import PoDocument
from regard.formats.registry import FORMATS
from regard.formats.text import TextDocument
from regard.formats.unsupported import require_text_suffix
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


@runtime_checkable
class AnnotatedDocument(Protocol):
    """A document whose format has a place for notes to the reviewer."""

    def annotate(self, notes: Sequence[str]) -> None:
        """Set the note of each segment, "" for none; it is written where the segment is translated."""


DOCUMENTS: dict[str, Callable[[Path, str, str], Document]] = {
    ".po": PoDocument,
    ".pot": PoDocument,
    **dict.fromkeys(SUFFIXES, XliffDocument),
}
TRANSLATABLE_SUFFIXES = (".po", ".xlf")
BILINGUAL_SUFFIXES = (".tsv", ".jsonl", ".tmx")


def is_plain_text(path: Path) -> bool:
    """Whether a file is translated line by line: its suffix, before .gz, is that of no other format.

    A suffix that names what cannot be translated is refused.
    """
    _require_translatable(path)
    suffix = files.format_suffix(path)
    return suffix not in DOCUMENTS and FORMATS.find(suffix) is None


def open_document(path: str | Path, source: str = "", target: str = "") -> Document:
    """Open a file to be translated from one language to the other, by its suffix: PO, XLIFF, text, a plug-in's."""
    file = Path(path)
    suffix = files.format_suffix(file)
    if not file.exists():
        raise FormatError(f"{file}: no such file")
    if file.is_dir():
        raise FormatError(f"{file}: is a folder; expected a file")
    registered = FORMATS.find(suffix)
    if registered and registered.document:
        return registered.open_document(file, source, target)
    _require_translatable(file)
    return DOCUMENTS.get(suffix, TextDocument)(file, source, target)


def _require_translatable(path: Path) -> None:
    """Refuse a file by its suffix: one that is not supported, or that holds pairs, which are translated already."""
    suffix = files.format_suffix(path)
    registered = FORMATS.find(suffix)
    if suffix in BILINGUAL_SUFFIXES or (registered and not registered.document):
        raise FormatError(f"{path}: {suffix} holds translated pairs; expected .po, .xlf or plain text to translate")
    require_text_suffix(path, TRANSLATABLE_SUFFIXES)
