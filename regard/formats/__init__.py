"""Files <-> Pairs. Strings only, no tokens, ids or models.

Every format is a module with `read(path, source, target) -> Iterator[Pair]`. Those that can be translated in place,
PO, XLIFF and plain text, have a `Document` too. Error messages name file and line. Plug-ins register more formats.
"""

from regard.formats.document import Document, open_document
from regard.formats.pair import Pair, Segment
from regard.formats.reader import are_two_texts, read_lines, read_pairs
from regard.formats.translation_check import check_translation

__all__ = [
    "Document",
    "Pair",
    "Segment",
    "are_two_texts",
    "check_translation",
    "open_document",
    "read_lines",
    "read_pairs",
]
