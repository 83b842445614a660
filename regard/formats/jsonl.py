"""JSON lines: one object a line, with its two texts in one of three places.

    {"source": "one", "target": "un"}
    {"en": "one", "fr": "un"}                       keys are language codes, which must be asked for
    {"translation": {"en": "one", "fr": "un"}}      the same, one step down

Blank lines are passed over. Whatever else an object holds is not looked at.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regard.errors import FormatError
from regard.formats import languages, text
from regard.formats.pair import Pair


def read(path: Path, source: str = "", target: str = "") -> Iterator[Pair]:
    """The pair of every line."""
    for number, line in enumerate(text.lines(path), start=1):
        if line.strip():
            where = f"{path}:{number}"
            row = _object(line, where)
            keys = _keys(row, source, target, where)
            yield Pair(_text(row, keys[0], where), _text(row, keys[1], where), where)


def _object(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except RecursionError:
        raise FormatError(f"{where}: nested too deep; expected one flat object a line") from None
    except ValueError as error:
        problem = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise FormatError(f"{where}: not JSON ({problem}); expected one object a line") from None
    if not isinstance(row, dict):
        raise FormatError(f"{where}: a {type(row).__name__}; expected an object with the keys source and target")
    inner = row.get("translation")
    return inner if isinstance(inner, dict) and not {"source", "target"} <= set(row) else row


def _keys(row: Mapping[str, Any], source: str, target: str, where: str) -> tuple[str, str]:
    if {"source", "target"} <= set(row):
        return "source", "target"
    names = list(row)
    found = [[names[place] for place in languages.closest(code, names)] if code else [] for code in (source, target)]
    if found[0] and found[1]:
        return found[0][0], found[1][0]
    listed = ", ".join(map(repr, names)) or "none"
    asked = f" or {source!r} and {target!r}" if source and target else ""
    raise FormatError(
        f"{where}: expected the keys 'source' and 'target'{asked}, got {listed[:200]}. "
        f"If these are language codes, set data.source and data.target to two of them."
    )


def _text(row: Mapping[str, Any], key: str, where: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise FormatError(f"{where}: {key!r} is {json.dumps(value)[:60]}; expected a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise FormatError(
            f"{where}: {key!r} has half a surrogate pair, {value[error.start]!a}, which is no character. "
            f"Write the character itself, or both halves."
        ) from None
    return value
