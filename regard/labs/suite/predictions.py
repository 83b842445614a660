"""What a class predicted: a CSV with the columns lab and prediction, and a histogram beside the measurement."""

import csv
import io
import math
from collections.abc import Collection
from pathlib import Path

from regard.errors import FormatError
from regard.files import read_text
from regard.labs.suite.measurement import MeasuredPart
from regard.report.chart import Chart
from regard.report.charts.curves import histogram
from regard.report.table import Table

COLUMNS = ("lab", "prediction")
MAX_BINS = 20


def read_predictions(path: Path, labs: Collection[str]) -> dict[str, list[float]]:
    """The predictions of each lab, in the order of the file."""
    try:
        rows = list(csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"))))
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path} is not a CSV file of UTF-8 text: {error}") from None
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if missing := [name for name in COLUMNS if name not in header]:
        raise FormatError(f"{path}, line 1: there is no column '{missing[0]}'; expected lab,prediction")
    predictions: dict[str, list[float]] = {}
    for line, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise FormatError(f"{path}, line {line}: {len(row)} columns, but the first line has {len(header)}")
        name, text = (row[header.index(column)].strip() for column in COLUMNS)
        if name not in labs:
            raise FormatError(f"{path}, line {line}: there is no lab '{name}'; `regard lab` lists them")
        if text:  # who did not answer
            predictions.setdefault(name, []).append(parse_number(text, f"{path}, line {line}"))
    return predictions


def parse_number(text: str, where: str) -> float:
    """A prediction as people type it: a number, or a percentage; a comma is a decimal point."""
    try:
        value = float(text.replace(",", ".").removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"{where}: {text!r} is not a number")
    return value


def draw_predictions(values: list[float], measured: MeasuredPart) -> Chart:
    """A histogram of what was predicted, with a line at what was measured."""
    number = "1 prediction" if len(values) == 1 else f"{len(values)} predictions"
    return histogram(
        Table({"prediction": values}),
        "prediction",
        title=f"{number}: {measured.name}",
        x_title="predicted",
        y_title="answers",
        bins=min(MAX_BINS, max(5, len(values))),
        rules={"measured": measured.mean},
    )
