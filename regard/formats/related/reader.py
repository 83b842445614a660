"""Files of texts that belong together: tables (.csv, .tsv), JSON lines, or plain text with one text per line.

{"text": "How do I pay?", "positive": "Payment …", "negatives": ["Prices …"]}
{"sentence1": "A man sings.", "sentence2": "Someone is singing.", "similarity": 4.2}
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import files, text
from regard.formats.labeled.columns import SAMPLE_ROWS
from regard.formats.labeled.reader import JSON_SUFFIX, TABLE_SUFFIXES, list_existing
from regard.formats.labeled.table import Row, convert_cell, read_objects, read_rows
from regard.formats.related.columns import ColumnNumbers, RelatedColumns, choose_related_columns, name_keys
from regard.formats.related.examples import RelatedTexts
from regard.formats.unsupported import require_text_suffix

EXPECTED = "expected a text and its positive (.tsv, .csv, .jsonl), or one text per line"


def read_related_texts(
    paths: Sequence[str | Path], names: RelatedColumns | None = None, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[RelatedTexts]:
    """The texts of files; an empty text, and rows with more or fewer columns than the first one, are refused."""
    names = names or RelatedColumns()
    for path in list_existing(paths):
        if path.is_dir():
            raise FormatError(f"{path}: is a folder; {EXPECTED}")
        num_negatives: int | None = None
        for example in _read_file(path, names, max_line_bytes):
            _require_texts(example)
            num_negatives = len(example.negatives) if num_negatives is None else num_negatives
            if len(example.negatives) != num_negatives:
                raise FormatError(
                    f"{example.location}: has {len(example.negatives)} hard negatives; expected {num_negatives}, as in "
                    f"the first row"
                )
            yield example
        if num_negatives is None:
            raise FormatError(f"{path}: is empty; {EXPECTED}")


def _read_file(path: Path, names: RelatedColumns, max_line_bytes: int) -> Iterator[RelatedTexts]:
    suffix = files.format_suffix(path)
    if suffix in TABLE_SUFFIXES:
        return _read_table(path, names, max_line_bytes)
    if suffix == JSON_SUFFIX:
        return _read_json_lines(path, names, max_line_bytes)
    require_text_suffix(path, (*TABLE_SUFFIXES, JSON_SUFFIX))
    return _read_lines(path, max_line_bytes)


def _read_lines(path: Path, max_line_bytes: int) -> Iterator[RelatedTexts]:
    for number, line in enumerate(text.read_lines(path, max_line_bytes), start=1):
        if line.strip():
            yield RelatedTexts(line.strip(), location=f"{path}:{number}")


def _read_table(path: Path, names: RelatedColumns, max_line_bytes: int) -> Iterator[RelatedTexts]:
    rows = read_rows(path, max_line_bytes)
    head = list(itertools.islice(rows, SAMPLE_ROWS))
    if not head:
        return
    columns = choose_related_columns([[str(cell) for cell in row.cells] for row in head], names, str(path))
    for row in itertools.chain(head[columns.has_header :], rows):
        yield _make_example(row, columns, len(head[0].cells))


def _make_example(row: Row, columns: ColumnNumbers, width: int) -> RelatedTexts:
    if len(row.cells) != width:
        raise FormatError(f"{row.location}: has {len(row.cells)} columns; expected {width}, as in the first row")
    cells = [str(cell).strip() for cell in row.cells]
    similarity = None if columns.similarity is None else parse_similarity(cells[columns.similarity], row.location)
    positive = None if columns.positive is None else cells[columns.positive]
    return RelatedTexts(
        cells[columns.text], positive, tuple(cells[n] for n in columns.negatives), similarity, row.location
    )


def _read_json_lines(path: Path, names: RelatedColumns, max_line_bytes: int) -> Iterator[RelatedTexts]:
    for row, where in read_objects(path, max_line_bytes):
        text_key, positive_key, negative_keys, similarity_key = name_keys(list(row), names, where)
        texts = [_get_texts(row, key, where) for key in (text_key, *([positive_key] if positive_key else []))]
        if any(len(one) != 1 for one in texts):
            raise FormatError(f"{where}: {text_key!r} and its positive are one text each; got a list")
        negatives = [one for key in negative_keys for one in _get_texts(row, key, where)]
        similarity = parse_similarity(str(row[similarity_key]), where) if similarity_key else None
        (first,), positive = texts[0], texts[1][0] if positive_key else None
        yield RelatedTexts(first, positive, tuple(negatives), similarity, where)


def _get_texts(row: Mapping[str, object], key: str, where: str) -> list[str]:
    cell = convert_cell(row[key], where, key)
    return [one.strip() for one in ((cell or "",) if isinstance(cell, str | None) else cell)]


def parse_similarity(cell: str, where: str) -> float:
    """The number of a cell."""
    try:
        value = float(cell)
    except ValueError:
        raise FormatError(f"{where}: the similarity is {cell[:40]!r}; expected a number") from None
    if not math.isfinite(value):
        raise FormatError(f"{where}: the similarity is {cell[:40]}; expected a finite number")
    return value


def _require_texts(example: RelatedTexts) -> None:
    texts = {"text": example.text, "positive": example.positive}
    texts |= {f"hard negative {number}": one for number, one in enumerate(example.negatives, start=1)}
    for name, one in texts.items():
        if one == "":
            raise FormatError(f"{example.location}: the {name} is empty; complete the row, or remove it")
