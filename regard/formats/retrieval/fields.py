"""Some named columns of a table: CSV and TSV with a header or without, JSON lines.

A table without a header has its columns in the order of the fields, unless their numbers were requested.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files
from regard.formats.labeled.columns import MAX_NAME_CHARS, find_name
from regard.formats.labeled.table import Row, convert_cell, read_objects, read_rows

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl")
MAX_RECORD_BYTES = 1 << 24
"""Of one line: a document is much longer than a sentence."""


@dataclass(frozen=True)
class Field:
    """A column that is read."""

    name: str
    usual: tuple[str, ...]
    """The names that it has in the files of this field, in lower case."""
    requested: str = ""
    """Its name or number, as the user has said; unset: recognized by a usual name."""
    required: bool = True
    has_option: bool = False
    """Whether the command has an option that names the column."""


def read_fields(path: Path, fields: Sequence[Field]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The values of the fields in every row, with its location; a field that a table lacks is empty."""
    if files.format_suffix(path) == ".jsonl":
        return _read_objects(path, fields)
    return _read_table(path, fields)


def _read_objects(path: Path, fields: Sequence[Field]) -> Iterator[tuple[tuple[str, ...], str]]:
    for row, where in read_objects(path, MAX_RECORD_BYTES):
        names = [_find_column(list(row), field, where) for field in fields]
        yield tuple(_get_text(row[name], where, name) if name else "" for name in names), where


def _get_text(value: object, where: str, column: str) -> str:
    cell = convert_cell(value, where, column)
    if isinstance(cell, tuple):
        raise FormatError(f"{where}: {column!r} is a list; expected a text")
    return cell or ""


def _read_table(path: Path, fields: Sequence[Field]) -> Iterator[tuple[tuple[str, ...], str]]:
    rows = read_rows(path, MAX_RECORD_BYTES)
    first = next(rows, None)
    if first is None:
        raise FormatError(f"{path}: is empty; expected a row for each {fields[0].name}")
    header = [str(cell).strip() for cell in first.cells]
    if _is_header(header, fields):
        names = [_find_column(header, field, str(path)) for field in fields]
        columns = [header.index(name) if name else None for name in names]
    else:
        columns, rows = _number_columns(header, fields, path), itertools.chain([first], rows)
    for row in rows:
        yield tuple(_get_cell(row, column, len(header)) for column in columns), row.location


def _get_cell(row: Row, column: int | None, width: int) -> str:
    if column is None:
        return ""
    if column >= len(row.cells):
        raise FormatError(f"{row.location}: has {len(row.cells)} columns; expected {width}, as in the first row")
    return str(row.cells[column])


def _find_column(header: Sequence[str], field: Field, where: str) -> str:
    """The name of the column; empty where there is none and none is needed."""
    if field.requested or field.has_option or {name.lower() for name in header} & {*field.usual}:
        return find_name(header, field.requested, field.usual, field.name, where)
    if not field.required:
        return ""
    columns = ", ".join(map(repr, header))
    raise FormatError(f"{where}: which column is the {field.name}? It has: {columns}. Name it {field.usual[0]!r}.")


def _is_header(first: Sequence[str], fields: Sequence[Field]) -> bool:
    """Whether the first row holds names of columns: requested ones, or a usual one of a field that is required."""
    if requested := [field.requested for field in fields if field.requested]:
        return not all(name.isdecimal() for name in requested)
    usual = {name for field in fields if field.required for name in field.usual}
    return any(cell.lower() in usual for cell in first) and all(len(cell) <= MAX_NAME_CHARS for cell in first)


def _number_columns(first: Sequence[str], fields: Sequence[Field], path: Path) -> list[int | None]:
    """The columns of a table without a header: as requested, or in the order of the fields."""
    if any(field.requested for field in fields):
        return [_parse_number(field, len(first), path) for field in fields]
    required = [field for field in fields if field.required]
    for present in (fields, required):
        if len(first) == len(present):
            return [present.index(field) if field in present else None for field in fields]
    cells = "; ".join(f"{number}: {cell[:MAX_NAME_CHARS]!r}" for number, cell in enumerate(first, start=1))
    expected = ", ".join(field.name for field in fields)
    raise FormatError(f"{path}: has no header. Its first row has {cells}. Add a header with the columns {expected}.")


def _parse_number(field: Field, width: int, path: Path) -> int | None:
    if not field.requested and not field.required:
        return None
    number = int(field.requested) if field.requested and len(field.requested) <= MAX_NAME_CHARS else 0
    if not 1 <= number <= width:
        what = f"has no column {field.requested[:MAX_NAME_CHARS]}" if field.requested else f"which is the {field.name}?"
        raise FormatError(
            f"{path}: {what}; its first row has {width} columns, and --{field.name}-column needs a number"
        )
    return number - 1
