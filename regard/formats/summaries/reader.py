"""Files of documents and their summaries: JSON lines, or tables (.csv, .tsv) of two columns.

{"source": ["First sentence.", "Second one."], "target": ["A summary.", "Another."], "title": "A title"}
{"source": "A whole text, which is divided into sentences by rules.", "target": "A summary."}
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import files
from regard.formats.labeled.columns import MAX_NAME_CHARS, find_name, parse_column_number, require_distinct
from regard.formats.labeled.reader import JSON_SUFFIX, TABLE_SUFFIXES, list_existing
from regard.formats.labeled.table import Row, convert_cell, read_objects, read_rows
from regard.formats.summaries.examples import SummarizedDocument
from regard.formats.unsupported import require_text_suffix

SOURCE_NAMES = ("source", "document", "article", "text", "body", "abstract", "dialogue", "content")
TARGET_NAMES = ("target", "summary", "highlights", "summaries", "tldr", "subject", "headline")
TITLE_NAMES = ("title",)
EXPECTED = "expected documents and their summaries (.jsonl, .tsv, .csv)"


@dataclass(frozen=True)
class SummaryColumns:
    """Columns that the user has named, or numbered from 1 on; unset: recognized."""

    source: str = ""
    target: str = ""
    labels: str = ""
    """Labels of sentences, which are read only where they are named."""


def read_documents(
    paths: Sequence[str | Path], names: SummaryColumns | None = None, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[SummarizedDocument]:
    """The documents of files; one without a summary is refused."""
    names = names or SummaryColumns()
    for path in list_existing(paths):
        if path.is_dir():
            raise FormatError(f"{path}: is a folder; {EXPECTED}")
        is_empty = True
        for document in _read_file(path, names, max_line_bytes):
            if not document.references:
                raise FormatError(f"{document.location}: has no summary; complete the row, or remove it")
            is_empty = False
            yield document
        if is_empty:
            raise FormatError(f"{path}: is empty; {EXPECTED}")


def _read_file(path: Path, names: SummaryColumns, max_line_bytes: int) -> Iterator[SummarizedDocument]:
    suffix = files.format_suffix(path)
    if suffix == JSON_SUFFIX:
        return _read_json_lines(path, names, max_line_bytes)
    if suffix in TABLE_SUFFIXES:
        return _read_table(path, names, max_line_bytes)
    require_text_suffix(path, (JSON_SUFFIX, *TABLE_SUFFIXES))
    raise FormatError(f"{path}: is plain text; {EXPECTED}")


def _read_json_lines(path: Path, names: SummaryColumns, max_line_bytes: int) -> Iterator[SummarizedDocument]:
    for row, where in read_objects(path, max_line_bytes):
        keys = list(row)
        source_key, target_key = _find_columns(keys, names, where)
        labels_key = find_name(keys, names.labels, (), "label", where) if names.labels else None
        require_distinct({"document": source_key, "summary": target_key, "label": labels_key}, where)
        is_divided = isinstance(row[source_key], list)
        source = _get(row, source_key, where) if is_divided else _split_lines(row[source_key])
        target = _get(row, target_key, where)
        title = next((" ".join(_get(row, key, where)) for key in keys if key.lower() in TITLE_NAMES), "")
        labels = _get_labels(row, labels_key, where) if labels_key else None
        if labels is not None and (not is_divided or len(labels) != len(source)):
            raise FormatError(
                f"{where}: has {len(labels)} labels for {len(source)} sentences; expected a list of sentences, with a "
                f"label for each"
            )
        occupied = [n for n, sentence in enumerate(source) if sentence]
        yield SummarizedDocument(
            tuple(source[n] for n in occupied),
            tuple(filter(None, target)),
            title,
            None if labels is None else tuple(labels[n] for n in occupied),
            is_divided,
            where,
        )


def _find_columns(names_of_columns: Sequence[str], names: SummaryColumns, where: str) -> tuple[str, str]:
    """The names of the columns of the document and of its summary."""
    source = find_name(names_of_columns, names.source, SOURCE_NAMES, "text", where)
    target = find_name(names_of_columns, names.target, TARGET_NAMES, "text-pair", where)
    require_distinct({"document": source, "summary": target}, where, names_of_columns)
    return source, target


def _get(row: Mapping[str, object], key: str, where: str) -> list[str]:
    """The text of a cell, or its texts."""
    cell = convert_cell(row[key], where, key)
    return [_join_lines(one) for one in ((cell or "",) if isinstance(cell, str | None) else cell)]


def _split_lines(text: object) -> list[str]:
    """The lines of an undivided document, over whose ends no sentence reaches."""
    return list(filter(None, map(_join_lines, str(text or "").split("\n"))))


def _get_labels(row: Mapping[str, object], key: str, where: str) -> list[int]:
    labels = _get(row, key, where)
    if wrong := [label for label in labels if label not in ("0", "1")]:
        raise FormatError(f"{where}: {key!r} has the label {wrong[0][:40]!r}; expected 0 or 1 for each sentence")
    return list(map(int, labels))


def _join_lines(text: str) -> str:
    """A text on one line: line breaks and tabs are blanks."""
    return " ".join(text.split())


def _read_table(path: Path, names: SummaryColumns, max_line_bytes: int) -> Iterator[SummarizedDocument]:
    if names.labels:
        raise FormatError(f"{path}: {names.labels!r} names labels of sentences, which only .jsonl files have")
    rows = read_rows(path, max_line_bytes)
    first = next(rows, None)
    if first is None:
        return
    header = [str(cell).strip() for cell in first.cells]
    title: int | None = None
    if _is_header(header, names):
        source, target = map(header.index, _find_columns(header, names, str(path)))
        title = next((n for n, name in enumerate(header) if name.lower() in TITLE_NAMES and n != target), None)
    else:
        source, target = _number_columns(len(header), names, str(path))
        rows = itertools.chain([first], rows)
    for row in rows:
        yield _make_document(row, source, target, title, len(header))


def _number_columns(width: int, names: SummaryColumns, file: str) -> tuple[int, int]:
    """The columns of a table without a header; one without a number is the first that is left."""
    source, target = (parse_column_number(name, width, file) for name in (names.source, names.target))
    left = [number for number in (0, 1) if number not in (source, target)]
    source = left.pop(0) if source is None else source
    target = left.pop(0) if target is None else target
    require_distinct({"document": source, "summary": target}, file)
    return source, target


def _is_header(header: Sequence[str], names: SummaryColumns) -> bool:
    """Whether the first row has names: those that were requested, or usual ones of both columns."""
    requested = [name for name in (names.source, names.target) if name]
    if requested:
        return not all(name.isdecimal() for name in requested)
    lower = {cell.lower() for cell in header if len(cell) <= MAX_NAME_CHARS}
    return bool(lower & {*SOURCE_NAMES} and lower & {*TARGET_NAMES})


def _make_document(row: Row, source: int, target: int, title: int | None, width: int) -> SummarizedDocument:
    if len(row.cells) != width or width < 2:
        expected = f"{width}, as in the first row" if width > 1 else "two: a document and its summary"
        raise FormatError(f"{row.location}: has {len(row.cells)} columns; expected {expected}")
    cells = [_join_lines(str(cell)) for cell in row.cells]
    return SummarizedDocument(
        tuple(_split_lines(row.cells[source])),
        tuple(filter(None, [cells[target]])),
        "" if title is None else cells[title],
        is_divided=False,
        location=row.location,
    )
