"""Tables of a scored set in a run, with a row for each example: how they are read."""

import math
from collections.abc import Sequence
from pathlib import Path

from regard.errors import RunError
from regard.files import read_text
from regard.formats import tsv


def read_rows(path: Path, columns: Sequence[str], num_numbers: int) -> list[list[str]]:
    """The rows of a table with these columns, of which the last ones are numbers."""
    try:
        header, *lines = read_text(path).rstrip("\n").split("\n")
        if tsv.parse_row(header) != list(columns):
            raise ValueError(f"expected the columns {', '.join(columns)}")
        rows = list(map(tsv.parse_row, lines))
        for row in rows:
            if len(row) != len(columns) or not all(math.isfinite(float(cell)) for cell in row[-num_numbers:]):
                raise ValueError(f"expected {len(columns)} cells, the last {num_numbers} of them numbers")
        return rows
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or error
        raise RunError(f"{path}: not the examples of a set ({problem}); evaluate the run again") from None
