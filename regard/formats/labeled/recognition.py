"""Whether a file has texts with labels or tagged words, where that leaves no doubt."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from regard.errors import RegardError
from regard.formats import files, text
from regard.formats.labeled.classes import FASTTEXT_PREFIX
from regard.formats.labeled.columns import LABEL_NAMES, PAIR_NAMES, TEXT_NAMES
from regard.formats.labeled.spans import TAG_KEYS, WORD_KEYS
from regard.formats.labeled.table import read_objects, read_rows
from regard.formats.registry import find_reader

LabeledKind = Literal["labels", "tags"]
PAIR_KEYS = ("source", "target")
"""Columns of sentences and their translations; "target" is also a usual name of labels."""


def recognize(paths: Sequence[Path]) -> LabeledKind | None:
    """What all of the files have; None in doubt, and where one cannot be read."""
    try:
        kinds = {_recognize_file(path) for path in paths}
    except (OSError, RegardError):
        return None
    return kinds.pop() if len(kinds) == 1 else None


def _recognize_file(path: Path) -> LabeledKind | None:
    suffix = files.format_suffix(path)
    if suffix == ".conll":
        first = next((line for line in text.read_lines(path) if line.strip()), "")
        return "tags" if len(first.split()) > 1 else None
    if suffix in (".csv", ".tsv"):
        row = next(read_rows(path), None)
        return recognize_columns([str(cell) for cell in row.cells] if row else [])
    if suffix == ".jsonl":
        keys, _ = next(read_objects(path), ({}, ""))
        return recognize_columns(list(keys))
    if find_reader(suffix) is None:
        first = next((line for line in text.read_lines(path) if line.strip()), "")
        return "labels" if first.startswith(FASTTEXT_PREFIX) else None
    return None


def recognize_columns(columns: Sequence[str]) -> LabeledKind | None:
    """What a table with these names of columns has; None in doubt."""
    names = {column.strip().lower() for column in columns}
    if names & {*PAIR_KEYS}:
        return None
    if names & {*WORD_KEYS} and names & {*TAG_KEYS}:
        return "tags"
    has_text = bool(names & {*TEXT_NAMES}) or any(names >= {*pair} for pair in PAIR_NAMES)
    return "labels" if has_text and names & {*LABEL_NAMES} else None
