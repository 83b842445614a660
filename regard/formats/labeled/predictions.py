"""The predicted labels of another system: one line for each text, or the label column of a table."""

from collections.abc import Iterator
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, text
from regard.formats.labeled.classes import FASTTEXT_PREFIX, labels_of
from regard.formats.labeled.columns import find_name
from regard.formats.labeled.table import convert_cell, read_objects, read_rows

PREDICTION_NAMES = ("prediction", "predicted", "predicted_label", "label", "labels", "category", "class", "intent")


def read_predictions(path: Path, column: str = "") -> Iterator[tuple[str, ...]]:
    """The predicted labels of each text, in order."""
    suffix = files.format_suffix(path)
    if suffix == ".jsonl":
        for row, where in read_objects(path):
            name = find_name(list(row), column, PREDICTION_NAMES, "label", where)
            yield labels_of(convert_cell(row[name], where, name))
    elif suffix in (".csv", ".tsv"):
        rows = read_rows(path)
        first = next(rows, None)
        if first is None:
            raise FormatError(f"{path}: is empty; expected a header and a row with the predicted label of each text")
        header = [str(cell).strip() for cell in first.cells]
        index = header.index(find_name(header, column, PREDICTION_NAMES, "label", str(path)))
        yield from (labels_of(row.cells[index]) if index < len(row.cells) else () for row in rows)
    else:
        for line in text.read_lines(path):
            is_fasttext = line.startswith(FASTTEXT_PREFIX)
            words = (
                [word for word in line.split() if word.startswith(FASTTEXT_PREFIX)] if is_fasttext else [line.strip()]
            )
            yield tuple(word.removeprefix(FASTTEXT_PREFIX) for word in words if word)
