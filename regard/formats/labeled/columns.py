"""Which columns of a table are the text, the second text of a pair, and the label.

A column is chosen by what the user has said, by a name that is usual for it, or, in a table without a header, by its
content if that leaves no doubt. Otherwise an error lists the columns.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.errors import FormatError
from regard.formats.labeled.examples import ColumnNames

TEXT_NAMES = (
    *("text", "sentence", "review", "content", "document", "utterance"),
    *("question", "body", "message", "comment", "tweet", "query"),
)
PAIR_NAMES = (
    *(("text", "text_pair"), ("text_a", "text_b"), ("text1", "text2"), ("sentence1", "sentence2")),
    *(("sentence_a", "sentence_b"), ("premise", "hypothesis"), ("question1", "question2"), ("question", "sentence")),
)
LABEL_NAMES = ("label", "labels", "category", "class", "intent", "sentiment", "target", "topic", "gold_label")
SAMPLE_ROWS = 1000
"""Rows whose content decides in a table without a header."""
MIN_REPEATS = 2.0
"""How often a label occurs on average, in a column that is taken for the labels without a header."""
MIN_ROWS = 10
"""Fewer rows do not tell a label from a text."""
MAX_NAME_CHARS = 40
"""Of the name of a column; a longer cell is a text."""


@dataclass(frozen=True)
class Columns:
    """The numbers of the columns of a table, from 0 on."""

    text: int
    label: int
    text_pair: int | None = None
    has_header: bool = False

    @property
    def minimum_cells(self) -> int:
        """How many cells a row has at least."""
        return 1 + max(self.text, self.label, self.text_pair or 0)


def choose_columns(sample: Sequence[Sequence[str]], names: ColumnNames, file: str) -> Columns:
    """The columns of a table whose first rows are the sample."""
    header = [cell.strip() for cell in sample[0]]
    if _is_header(sample, names):
        text, text_pair, label = choose_names(header, names, file)
        pair_index = header.index(text_pair) if text_pair else None
        return Columns(header.index(text), header.index(label), pair_index, has_header=True)
    return _choose_by_content(sample, names, file)


def choose_names(header: Sequence[str], names: ColumnNames, file: str) -> tuple[str, str, str]:
    """The names of the columns of the text, of the second text ("" if there is none) and of the label."""
    label = find_name(header, names.label, LABEL_NAMES, "label", file)
    others = [name for name in header if name != label]
    if not names.text:
        by_lower = {name.lower(): name for name in others}
        for first, second in PAIR_NAMES:
            if not names.text_pair and first in by_lower and second in by_lower:
                return by_lower[first], by_lower[second], label
    text_names = tuple(others) if len(others) == 1 else TEXT_NAMES
    text = find_name(header, names.text, text_names, "text", file)
    text_pair = find_name(header, names.text_pair, (), "text-pair", file) if names.text_pair else ""
    require_distinct({"text": text, "second text": text_pair, "label": label}, file, header)
    return text, text_pair, label


def find_name(header: Sequence[str], requested: str, usual: Sequence[str], option: str, file: str) -> str:
    """A column by the name that was requested or, if none was, by a usual one."""
    by_lower = {name.lower(): name for name in reversed(header)}
    if requested:
        if requested in header:
            return requested
        if requested.lower() in by_lower:
            return by_lower[requested.lower()]
        raise FormatError(f"{file}: has no column {requested!r}; it has: {_list(header)}")
    matches = [by_lower[name.lower()] for name in usual if name.lower() in by_lower]
    if matches:
        return matches[0]
    raise FormatError(
        f"{file}: which column is the {option.replace('-', ' ')}? It has: {_list(header)}. Name it with "
        f"--{option}-column."
    )


def _is_header(sample: Sequence[Sequence[str]], names: ColumnNames) -> bool:
    """Whether the first row holds names of columns: requested ones, or a usual one of the label."""
    requested = [name for name in (names.text, names.text_pair, names.label) if name]
    if requested:
        return not all(name.isdecimal() for name in requested)
    first = [cell.strip().lower() for cell in sample[0]]
    return any(name in first for name in LABEL_NAMES) and all(len(cell) <= MAX_NAME_CHARS for cell in first)


def _choose_by_content(sample: Sequence[Sequence[str]], names: ColumnNames, file: str) -> Columns:
    width = len(sample[0])
    requested = [parse_column_number(name, width, file) for name in (names.text, names.label, names.text_pair)]
    text, label, text_pair = requested
    if label is None:
        label = _guess_label(sample)
    if text is None and label is not None and text_pair is None:
        others = [column for column in range(width) if column != label]
        text = others[0] if len(others) == 1 else None
    require_distinct({"text": text, "second text": text_pair, "label": label}, file)
    if text is None or label is None:
        cells = ", ".join(f"{number}: {cell[:40]!r}" for number, cell in enumerate(sample[0], start=1))
        raise FormatError(
            f"{file}: cannot tell which column is the text and which the label (its first row has {cells}); give their "
            f"names, or in a file without a header their numbers, with --text-column and --label-column"
        )
    return Columns(text, label, text_pair, has_header=not any(requested) and _names_columns(sample, label))


def _names_columns(sample: Sequence[Sequence[str]], label: int) -> bool:
    """Whether the first row is a header with unusual names: its label is the only one that never comes again."""
    counts = Counter(row[label] for row in sample if len(row) > label)
    once = [cell for cell, count in counts.items() if count == 1]
    return once == [sample[0][label]] and all(len(cell) <= MAX_NAME_CHARS for cell in sample[0])


def parse_column_number(name: str, width: int, file: str) -> int | None:
    """The column of a number that the user has given, from 0 on; None if there is none."""
    if not name:
        return None
    if len(name) > MAX_NAME_CHARS or not 1 <= int(name) <= width:
        raise FormatError(
            f"{file}: has no column {name[:MAX_NAME_CHARS]}; its first row has {width} columns, and no header"
        )
    return int(name) - 1


def require_distinct(columns: Mapping[str, str | int | None], file: str, header: Sequence[str] = ()) -> None:
    """Refuse a column that would be read as two things, and a name that two columns of the header have.

    Names or numbers (from 0 on) of columns by what they are.
    """
    chosen = [(what, column) for what, column in columns.items() if column not in (None, "")]
    has = f" (it has: {_list(header)})" if header else ""
    for (first, column), (second, other) in itertools.combinations(chosen, 2):
        if column == other:
            name = f"column {column + 1}" if isinstance(column, int) else f"the column {column!r}"
            raise FormatError(
                f"{file}: {name} would be both the {first} and the {second}; name two different columns{has}"
            )
    for what, column in chosen:
        if isinstance(column, str) and header.count(column) > 1:
            raise FormatError(
                f"{file}: has {header.count(column)} columns {column!r}, and the {what} is one of them; rename the "
                f"others{has}"
            )


def _guess_label(sample: Sequence[Sequence[str]]) -> int | None:
    """The one column whose cells repeat, where those of all others hardly do; None in doubt."""
    if len(sample) < MIN_ROWS:
        return None
    columns = list(zip(*sample, strict=False))
    repeating = [n for n, cells in enumerate(columns) if len(cells) >= MIN_REPEATS * len(set(cells))]
    return repeating[0] if len(repeating) == 1 and len(columns) > 1 else None


def _list(header: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in header)
