"""Tables: rows of CSV, TSV and JSON lines, each with the line that it begins at.

Cells of CSV may be quoted, and then hold commas, quotes and line breaks. Cells of TSV are never quoted: in the
corpora of this field a quotation mark is part of the text. Both may have a header, or none.
"""

import csv
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES, parse_json
from regard.formats import files, text

MAX_CELL_CHARS = 1 << 24
DELIMITERS = ",;\t|"

Cell = str | tuple[str, ...] | None
"""A text, a list of texts, or nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, by column."""

    cells: tuple[Cell, ...]
    location: str


def read_rows(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Row]:
    """The rows of a CSV or TSV file, its header included; blank lines are skipped."""
    lines = text.read_lines(path, max_line_bytes)
    if files.format_suffix(path) == ".tsv":
        for number, line in enumerate(lines, start=1):
            if line.strip(" "):
                yield Row(tuple(line.split("\t")), f"{path}:{number}")
        return
    yield from _read_csv(path, lines)


def _read_csv(path: Path, lines: Iterator[str]) -> Iterator[Row]:
    first = next(lines, "")
    delimiter = find_delimiter(first)
    old_limit = csv.field_size_limit(MAX_CELL_CHARS)
    reader = csv.reader((f"{line}\n" for line in itertools.chain([first], lines)), delimiter=delimiter, strict=True)
    try:
        while True:
            begin = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise FormatError(
                    f"{path}:{begin}: not a row of CSV ({error}). A cell with quotation marks is enclosed in quotation "
                    f'marks, and those inside it are doubled: "He said ""no""."'
                ) from None
            if cells is None:
                return
            if cells:
                yield Row(tuple(cells), f"{path}:{begin}")
    finally:
        csv.field_size_limit(old_limit)


def find_delimiter(line: str) -> str:
    """The delimiter of CSV: the most frequent candidate outside quotation marks, a comma if there is none."""
    unquoted = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=lambda delimiter: (unquoted.count(delimiter), -DELIMITERS.index(delimiter)))


def read_objects(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[Mapping[str, object], str]]:
    """The object of every line of a JSON Lines file, with its location."""
    for number, line in enumerate(text.read_lines(path, max_line_bytes), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = parse_json(line)
        except ValueError as error:
            raise FormatError(f"{where}: not valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise FormatError(f'{where}: expected an object, such as {{"text": …, "label": …}}, got {line[:60]!r}')
        yield value, where


def convert_cell(value: object, where: str, column: str) -> Cell:
    """A JSON value as a cell: a text, a number or a truth value as text, a list of such as several texts."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list) and all(isinstance(item, str | bool | int | float) for item in value):
        return tuple(item if isinstance(item, str) else json.dumps(item) for item in value)
    raise FormatError(f"{where}: {column!r} is {json.dumps(value)[:60]}; expected a text, or a list of texts")
