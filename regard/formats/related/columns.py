"""Which columns of a table are the text, its positive, the hard negatives, and the similarity.

Columns are chosen by what the user has named, by usual names, or, in a table without a header, by their order: text,
positive, hard negatives. A third and last column of numbers has similarities.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import FormatError
from regard.formats.labeled.columns import (
    MAX_NAME_CHARS,
    PAIR_NAMES,
    find_name,
    parse_column_number,
    require_distinct,
)
from regard.formats.labeled.recognition import recognize_columns

RELATED_NAMES = (
    *(("text", "positive"), ("anchor", "positive"), ("query", "positive"), ("query", "document"), ("query", "passage")),
    *(("question", "answer"), ("title", "body"), ("title", "text"), ("title", "abstract"), ("title", "content")),
    *PAIR_NAMES,
)
NEGATIVE_PREFIXES = ("negative", "hard_negative")
SIMILARITY_NAMES = ("similarity", "score", "sim", "relatedness")
SINGLE_NAMES = ("text", "sentence")
"""Names of the one column of a table of single texts."""


@dataclass(frozen=True)
class RelatedColumns:
    """Columns that the user has named, or numbered from 1 on; unset: recognized."""

    text: str = ""
    text_pair: str = ""
    similarity: str = ""


@dataclass(frozen=True)
class ColumnNumbers:
    """The columns of a table, from 0 on."""

    text: int
    positive: int | None = None
    negatives: tuple[int, ...] = ()
    similarity: int | None = None
    has_header: bool = False


def choose_related_columns(sample: Sequence[Sequence[str]], names: RelatedColumns, file: str) -> ColumnNumbers:
    """The columns of a table whose first rows are the sample."""
    header = [cell.strip() for cell in sample[0]]
    requested = [name for name in (names.text, names.text_pair, names.similarity) if name]
    if any(not name.isdecimal() for name in requested) or (not requested and _names_columns(header)):
        return _choose_by_name(header, names, file)
    if requested:
        text, positive, similarity = (
            parse_column_number(name, len(header), file) for name in (names.text, names.text_pair, names.similarity)
        )
        text, positive = text or 0, 1 if positive is None else positive
        require_distinct({"text": text, "text-pair": positive, "label": similarity}, header, file)
        return ColumnNumbers(text, positive, similarity=similarity)
    if recognize_columns(header) == "labels":
        raise FormatError(
            f"{file}: has texts with labels (its columns are {', '.join(map(repr, header))}); expected a text and its "
            f"positive, or name both columns with --text-column and --text-pair-column"
        )
    if len(header) == 3 and all(len(row) == 3 and is_number(row[2]) for row in sample):
        return ColumnNumbers(0, 1, similarity=2)
    return ColumnNumbers(0, 1 if len(header) > 1 else None, tuple(range(2, len(header))))


def name_keys(keys: Sequence[str], names: RelatedColumns, file: str) -> tuple[str, str, list[str], str]:
    """The keys of a text, its positive, its hard negatives and its similarity among these; "" for what is missing."""
    text, positive = _find_texts(keys, names, file)
    negatives = [key for key in keys if key.lower().startswith(NEGATIVE_PREFIXES) and key not in (text, positive)]
    if names.similarity:
        negatives, similarity = [], find_name(keys, names.similarity, (), "label", file)
    else:
        similarity = next((key for key in keys if key.lower() in SIMILARITY_NAMES), "")
    require_distinct({"text": text, "text-pair": positive or None, "label": similarity or None}, keys, file)
    return text, positive, [] if similarity else negatives, similarity


def _choose_by_name(header: Sequence[str], names: RelatedColumns, file: str) -> ColumnNumbers:
    text, positive, negatives, similarity = name_keys(header, names, file)
    return ColumnNumbers(
        header.index(text),
        header.index(positive) if positive else None,
        tuple(header.index(name) for name in negatives),
        header.index(similarity) if similarity else None,
        has_header=True,
    )


def _find_texts(keys: Sequence[str], names: RelatedColumns, file: str) -> tuple[str, str]:
    by_lower = {key.lower(): key for key in reversed(keys)}
    if not names.text and not names.text_pair:
        for first, second in RELATED_NAMES:
            if first in by_lower and second in by_lower:
                return by_lower[first], by_lower[second]
    text = find_name(
        keys, names.text, (*dict.fromkeys(first for first, _ in RELATED_NAMES), *SINGLE_NAMES), "text", file
    )
    positive = find_name(keys, names.text_pair, (), "text-pair", file) if names.text_pair else ""
    return text, positive


def _names_columns(header: Sequence[str]) -> bool:
    """Whether a row has the names of two related columns, or is the name of a single one."""
    first = [cell.lower() for cell in header]
    is_short = all(len(cell) <= MAX_NAME_CHARS for cell in first)
    return is_short and (
        any({*pair} <= {*first} for pair in RELATED_NAMES) or (len(first) == 1 and first[0] in SINGLE_NAMES)
    )


def is_number(text: str) -> bool:
    """Whether a cell is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
