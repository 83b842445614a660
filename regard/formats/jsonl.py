"""JSON lines: one object per line, with its two texts in one of three forms.

    {"source": "one", "target": "un"}
    {"en": "one", "fr": "un"}                       keys are language codes, which must be given
    {"translation": {"en": "one", "fr": "un"}}      the same, one level down

Blank lines are skipped. Other keys of an object are ignored.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES, parse_json
from regard.formats import files, languages, text
from regard.formats.pair import Pair


def read(path: Path, source: str = "", target: str = "", max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Pair]:
    """The pair of every line."""
    for number, line in enumerate(text.read_lines(path, max_line_bytes), start=1):
        if line.strip():
            where = f"{path}:{number}"
            row = _parse_object(line, where)
            keys = _select_keys(row, source, target, where)
            yield Pair(_get_text(row, keys[0], where), _get_text(row, keys[1], where), where)


def write(path: Path, pairs: Iterable[Pair]) -> None:
    """Write pairs with the keys source and target."""
    with files.create_binary(path) as file:
        for pair in pairs:
            row = {"source": pair.source, "target": pair.target}
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _parse_object(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = parse_json(line, finite=False)  # numbers are in keys that are ignored
    except ValueError as error:
        problem = str(error).replace("at line 1 column", "at column")
        raise FormatError(f"{where}: not JSON ({problem}); expected one flat object per line") from None
    if not isinstance(row, dict):
        raise FormatError(f"{where}: a {type(row).__name__}; expected an object with the keys source and target")
    inner = row.get("translation")
    return inner if isinstance(inner, dict) and not {"source", "target"} <= set(row) else row


def _select_keys(row: Mapping[str, Any], source: str, target: str, where: str) -> tuple[str, str]:
    if {"source", "target"} <= set(row):
        return "source", "target"
    names = list(row)
    matches = [
        [names[index] for index in languages.closest_matches(code, names)] if code else [] for code in (source, target)
    ]
    if matches[0] and matches[1]:
        return matches[0][0], matches[1][0]
    key_list = ", ".join(map(repr, names)) or "none"
    alternative = f" or {source!r} and {target!r}" if source and target else ""
    raise FormatError(
        f"{where}: expected the keys 'source' and 'target'{alternative}, got {key_list[:200]}. "
        f"If these are language codes, set data.source and data.target to two of them."
    )


def _get_text(row: Mapping[str, Any], key: str, where: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise FormatError(f"{where}: {key!r} is {json.dumps(value)[:60]}; expected a string")
    return value
