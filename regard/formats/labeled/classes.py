"""Texts with labels: CSV, TSV, JSON lines, fastText's `__label__` lines, and a folder for each class."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import files, text
from regard.formats.labeled.columns import SAMPLE_ROWS, Columns, choose_columns, choose_names
from regard.formats.labeled.examples import ColumnNames, LabeledText
from regard.formats.labeled.table import Cell, Row, convert_cell, read_objects, read_rows

FASTTEXT_PREFIX = "__label__"
EXPECTED = (
    "expected .csv, .tsv or .jsonl with a column for the text and one for the label, lines that begin with "
    f"{FASTTEXT_PREFIX}, or a folder with one folder of .txt files for each class"
)


def read_table(path: Path, names: ColumnNames, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[LabeledText]:
    """The texts and labels of a CSV or TSV file."""
    rows = read_rows(path, max_line_bytes)
    head = list(itertools.islice(rows, SAMPLE_ROWS))
    if not head:
        raise FormatError(f"{path}: is empty; {EXPECTED}")
    columns = choose_columns([[str(cell) for cell in row.cells] for row in head], names, str(path))
    for row in itertools.chain(head[columns.has_header :], rows):
        yield _make_example(row, columns, len(head[0].cells))


def _make_example(row: Row, columns: Columns, width: int) -> LabeledText:
    if len(row.cells) < columns.minimum_cells:
        raise FormatError(f"{row.location}: has {len(row.cells)} columns; expected {width}, as in the first row")
    cells = [str(cell) for cell in row.cells]
    text_pair = None if columns.text_pair is None else cells[columns.text_pair].strip()
    return LabeledText(cells[columns.text].strip(), labels_of(cells[columns.label]), text_pair, row.location)


def read_objects_with_labels(
    path: Path, names: ColumnNames, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[LabeledText]:
    """The texts and labels of a JSON Lines file; the label may be a list."""
    for row, where in read_objects(path, max_line_bytes):
        text_name, pair_name, label_name = choose_names(list(row), names, where)
        text_pair = _get_text(row[pair_name], where, pair_name) if pair_name else None
        labels = labels_of(convert_cell(row[label_name], where, label_name))
        yield LabeledText(_get_text(row[text_name], where, text_name), labels, text_pair, where)


def _get_text(value: object, where: str, column: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{where}: {column!r} is {type(value).__name__}; expected a text")
    return value.strip()


def labels_of(cell: Cell) -> tuple[str, ...]:
    """The labels of a cell, as they are written: an empty one is none."""
    labels = (cell,) if isinstance(cell, str) else cell or ()
    return tuple(label for label in labels if label.strip())


def is_fasttext(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> bool:
    """Whether the first line that is not blank begins with a label of fastText."""
    for line in text.read_lines(path, max_line_bytes):
        if line.strip():
            return line.startswith(FASTTEXT_PREFIX)
    return False


def read_fasttext(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[LabeledText]:
    """Lines of labels, each with the prefix __label__, and then the text."""
    for number, line in enumerate(text.read_lines(path, max_line_bytes), start=1):
        if not line.strip():
            continue
        words = line.split()
        labels = list(itertools.takewhile(lambda word: word.startswith(FASTTEXT_PREFIX), words))
        if not labels:
            raise FormatError(f"{path}:{number}: begins with no {FASTTEXT_PREFIX}…; got {line[:60]!r}")
        names = tuple(label.removeprefix(FASTTEXT_PREFIX) for label in labels)
        yield LabeledText(" ".join(words[len(labels) :]), names, location=f"{path}:{number}")


def read_folder(folder: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[LabeledText]:
    """A folder with one folder for each class: every .txt file in it is a text of that class."""
    class_folders = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    is_empty = True
    for class_folder in class_folders:
        for path in sorted(class_folder.rglob("*")):
            if path.is_file() and files.format_suffix(path) == ".txt":
                is_empty = False
                content = "\n".join(text.read_lines(path, max_line_bytes))
                yield LabeledText(content.strip(), (class_folder.name,), location=f"{path}:1")
    if is_empty:
        raise FormatError(f"{folder}: has no folder with .txt files; {EXPECTED}")
