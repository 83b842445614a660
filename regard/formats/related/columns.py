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
        return _choose_by_number(header, names, file)
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
        similarity = find_name(keys, names.similarity, (), "label", file)
        _require_texts(text, positive or None, similarity, keys, file)
        return text, positive, [], similarity
    _require_texts(text, positive or None, None, keys, file)
    similarity = next((key for key in keys if key.lower() in SIMILARITY_NAMES and key not in (text, positive)), "")
    return text, positive, [] if similarity else negatives, similarity if positive else ""


def _choose_by_name(header: Sequence[str], names: RelatedColumns, file: str) -> ColumnNumbers:
    text, positive, negatives, similarity = name_keys(header, names, file)
    return ColumnNumbers(
        header.index(text),
        header.index(positive) if positive else None,
        tuple(header.index(name) for name in negatives),
        header.index(similarity) if similarity else None,
        has_header=True,
    )


def _choose_by_number(header: Sequence[str], names: RelatedColumns, file: str) -> ColumnNumbers:
    """Columns without names: a text that was given no number is the first column that is left."""
    text, positive, similarity = (
        parse_column_number(name, len(header), file) for name in (names.text, names.text_pair, names.similarity)
    )
    left = [number for number in range(len(header)) if number not in (text, positive, similarity)]
    if text is None and left:
        text = left.pop(0)
    if positive is None and left:
        positive = left[0]
    _require_texts(text, positive, similarity, header, file)
    return ColumnNumbers(text or 0, positive, similarity=similarity)


def _require_texts(
    text: str | int | None, positive: str | int | None, similarity: str | int | None, header: Sequence[str], file: str
) -> None:
    """Refuse a text that is its own positive, and a similarity of one text."""
    require_distinct({"text": text, "second text": positive, "similarity": similarity}, file, header)
    if similarity is not None and (text is None or positive is None):
        raise FormatError(
            f"{file}: which column is the second text? A similarity is that of two texts. Name it with "
            f"--text-pair-column."
        )


def _find_texts(keys: Sequence[str], names: RelatedColumns, file: str) -> tuple[str, str]:
    by_lower = {key.lower(): key for key in reversed(keys)}
    if not names.text and not names.text_pair:
        for first, second in RELATED_NAMES:
            if first in by_lower and second in by_lower:
                return by_lower[first], by_lower[second]
    others = [key for key in keys if key.lower() != names.text_pair.lower()]
    text = find_name(
        keys if names.text else others,
        names.text,
        (*dict.fromkeys(first for first, _ in RELATED_NAMES), *SINGLE_NAMES),
        "text",
        file,
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
