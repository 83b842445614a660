"""Files <-> Pairs. Strings only: nothing here knows of tokens, ids or models.

Every format is a file with `read(path, source, target) -> Iterator[Pair]`. Those that go back to their owner, PO,
XLIFF and plain text, have a `Document` too. Errors carry file and line.
"""

from regard.formats.document import Document, open_document
from regard.formats.pair import Pair, Segment
from regard.formats.placeholders import check_translation, count_placeholders
from regard.formats.reader import are_two_texts, read_lines, read_pairs

__all__ = [
    "Document",
    "Pair",
    "Segment",
    "are_two_texts",
    "check_translation",
    "count_placeholders",
    "open_document",
    "read_lines",
    "read_pairs",
]
