"""Ways to damage a file; each returns what it did, in a few words."""

import contextlib
import json
import os
import random
import re
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEPTH = 100_000
LONG = 3_000_000
TEXTS = ("", "x", "x" * 10_000, "/etc/passwd", "../../x", "\x1b[31mred\x07", "a\x00b", "\u2028\u202e", "𝕏" * 99, "nan")
NUMBERS = (
    0,
    -1,
    1,
    3,
    10**6,
    10**9,
    2**31,
    2**63,
    10**30,
    10**400,
    0.5,
    -0.5,
    1e-320,
    1e308,
    float("inf"),
    float("nan"),
)
VALUES: tuple[Any, ...] = (*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], {"a": 1}, {"": {}}, [1] * 1000)
RAW_JSON = (
    "[" * DEPTH,
    '{"a":' * DEPTH,
    "9" * 5000,
    "1e999",
    "-Infinity",
    "NaN",
    '"\\ud800"',
    '"\\udc00x"',
    "{",
    "",
    "nul",
    '{"a": 1, "a": 2}',
    "[1,]",
    '"\x00"',
)
RAW_TOML = (
    "inf",
    "-inf",
    "nan",
    "-1",
    "0",
    "1e308",
    "9" * 30,
    "9" * 5000,
    "1979-05-27",
    "true",
    '""',
    '"/etc/passwd"',
    '"../../x"',
    '"\\u001b[31m"',
    "[]",
    "{}",
    "[[]]",
    "[" * 5000 + "]" * 5000,
    "{a = " * 2000 + "1" + "}" * 2000,
    "'''",
    "1000000000",
    "0.0000001",
    '"' + "y" * 100_000 + '"',
    "[1, 2, 3]",
    '["a", "b"]',
    "{low = 1, high = 1000000000000}",
)
CONDITIONS = (
    "9**9**9",
    "'a' * 10**9",
    "model.dim * " * 200 + "1",
    "9" * 4000 + " * " + "9" * 4000,
    "(" * 500 + "1" + ")" * 500,
    "-" * 3000 + "1",
    "[x for x in y]",
    "__import__('os')",
    "model.dim % 0",
    "'%1000000000d' % model.dim",
    "1e308 * 1e308 > model.dim",
    "not " * 2000 + "1",
    "1 < " * 500 + "2",
    "model.dim << 1000000000",
    "model.dim.bit_length()",
    "10 ** 10",
    "1 if 1 else 0",
    " and ".join(["model.dim * model.dim"] * 300),
    "\x00",
    "model.dim * " + "9" * 300,
)


def bytes_of(path: Path, rng: random.Random) -> str:
    """Damage that knows nothing of the format."""
    raw = path.read_bytes()
    name, change = rng.choice(list(BYTE_CHANGES.items()))
    path.write_bytes(change(raw, rng))
    return name


def _flip(raw: bytes, rng: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 3, 30))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(raw: bytes, rng: random.Random) -> tuple[int, int]:
    first, last = sorted((rng.randrange(len(raw) + 1), rng.randrange(len(raw) + 1)))
    return first, last


def _delete(raw: bytes, rng: random.Random) -> bytes:
    first, last = _cut(raw, rng)
    return raw[:first] + raw[last:]


def _repeat(raw: bytes, rng: random.Random) -> bytes:
    first, last = _cut(raw, rng)
    return raw[:last] + raw[first:]


def _insert(raw: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    pieces = (
        b"\x00" * 9,
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\x1b[2J\x07",
        b"\xed\xa0\x80",
        rng.randbytes(31),
        b"&a;<![CDATA[",
    )
    return raw[:place] + rng.choice(pieces) + raw[place:]


def _long_line(raw: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + b"x" * LONG + raw[place:]


def _recode(codec: str) -> Callable[[bytes, random.Random], bytes]:
    return lambda raw, rng: raw.decode("utf-8", "replace").encode(codec, "replace")


BYTE_CHANGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "bytes changed": _flip,
    "bytes deleted": _delete,
    "bytes repeated": _repeat,
    "bytes inserted": _insert,
    "truncated": lambda raw, rng: raw[: rng.randrange(len(raw) + 1)],
    "emptied": lambda raw, rng: b"",
    "noise": lambda raw, rng: rng.randbytes(rng.choice((1, 100, 10_000))),
    "zeros": lambda raw, rng: bytes(len(raw)),
    "a long line": _long_line,
    "UTF-16": _recode("utf-16"),
    "UTF-32": _recode("utf-32"),
    "latin-1": _recode("latin-1"),
    "carriage returns": lambda raw, rng: raw.replace(b"\n", b"\r"),
    "one line": lambda raw, rng: raw.replace(b"\n", b" "),
}


def kind_of(path: Path, rng: random.Random) -> str:
    """Something else in the place of a file."""
    name, make = rng.choice(list(KINDS.items()))
    with contextlib.suppress(OSError):
        path.unlink()
    make(path)
    return name


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 36)


def _link_outside(path: Path) -> None:
    """A file that is not the program's; and not the system's, which a fault would write to."""
    case = next(folder for folder in path.absolute().parents if folder.name.startswith("case"))
    (case / "outside.txt").write_text("root:x:0:0\n" * 25)
    path.symlink_to(case / "outside.txt")


KINDS: dict[str, Callable[[Path], None]] = {
    "a pipe": lambda path: os.mkfifo(path),
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to /dev/full": lambda path: path.symlink_to("/dev/full"),
    "a link to a file outside": _link_outside,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to a folder": lambda path: path.symlink_to("."),
    "a folder": lambda path: path.mkdir(),
    "missing": lambda path: None,
    "empty": lambda path: path.write_bytes(b"") and None,
    "64 GB of nothing": _sparse,
}


def json_of(path: Path, rng: random.Random) -> str:
    """A JSON file with one wrong value; or a line of JSON lines."""
    if rng.random() < 0.2:
        text = rng.choice(RAW_JSON)
        path.write_text(text)
        return f"is {text[:20]!r}"
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n") if path.suffix == ".jsonl" else [path.read_text()]
    index = rng.randrange(len(lines))
    lines[index], damage = _damage_json(lines[index], rng)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogatepass")
    return damage


def _damage_json(text: str, rng: random.Random) -> tuple[str, str]:
    value = json.loads(text)
    spots = list(_spots(value))
    if not spots or rng.random() < 0.05:
        return json.dumps(rng.choice(VALUES)), "another value"
    holder, key = rng.choice(spots[:60] if rng.random() < 0.5 else spots)
    action = rng.choice(("value", "value", "value", "raw", "raw", "delete", "rename", "swap"))
    if action == "delete":
        del holder[key]
        return json.dumps(value), f"without {key!r}"
    if action == "rename" and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = holder.pop(key)
        return json.dumps(value), f"{key!r} renamed"
    if action == "swap":
        other_holder, other = rng.choice(spots)
        holder[key] = json.loads(json.dumps(other_holder[other]))
        return json.dumps(value), f"{key!r} has the value of {other!r}"
    if action == "raw":
        raw = rng.choice(RAW_JSON)
        holder[key] = "@RAW@"
        return json.dumps(value).replace('"@RAW@"', raw), f"{key!r} is {raw[:20]!r}"
    new = rng.choice(VALUES)
    holder[key] = new
    return json.dumps(value), f"{key!r} is {str(new)[:30]!r}"


def _spots(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _spots(inner)


def toml_of(path: Path, rng: random.Random) -> str:
    """A TOML file with one wrong value, or without a line, or with one twice."""
    lines = path.read_text(encoding="utf-8").split("\n")
    spots = [i for i, line in enumerate(lines) if re.match(r"[^#\[]+=", line)]
    index = rng.choice(spots)
    key = lines[index].partition("=")[0].strip()
    action = rng.choice(("value", "value", "value", "value", "delete", "repeat", "rename"))
    if action == "value":
        raw = rng.choice(RAW_TOML)
        lines[index] = f"{key} = {raw}"
        damage = f"{key} = {raw[:30]}"
    elif action == "rename":
        name = rng.choice(("x", "__class__", '""', '"a.b"', '"\\u001b"', "dim", "a" * 3000))
        lines[index] = f"{name} = {lines[index].partition('=')[2]}"
        damage = f"{key} renamed to {name[:20]}"
    else:
        lines[index : index + 1] = [lines[index]] * (2 if action == "repeat" else 0)
        damage = f"{key}: {action}"
    path.write_text("\n".join(lines), encoding="utf-8")
    return damage


RAW_NUMBERS = {
    **{name: struct.pack("<f", float(name)) for name in ("nan", "inf", "-inf", "3e38", "1e-45")},
    **{f"{value} of 32 bits": struct.pack("<i", value) for value in (0, -1, 1, 2**31 - 1, -(2**31))},
    **{f"{value} of 64 bits": struct.pack("<q", value) for value in (0, -1, 10**9, 2**63 - 1, -(2**63))},
}


def numbers_of(path: Path, rng: random.Random) -> str:
    """An array of which one number, or each of them, is another one."""
    raw = bytearray(path.read_bytes())
    name, value = rng.choice(list(RAW_NUMBERS.items()))
    count = len(raw) // len(value)
    if rng.random() < 0.3:
        path.write_bytes(value * count + bytes(raw[count * len(value) :]))
        return f"all numbers are {name}"
    place = rng.choice((0, max(0, count - 1), rng.randrange(count) if count else 0)) * len(value)
    raw[place : place + len(value)] = value
    path.write_bytes(raw)
    return f"number {place // len(value)} is {name}"


def condition_of(path: Path, rng: random.Random) -> str:
    """A study whose condition is expensive or wrong."""
    text = rng.choice(CONDITIONS)
    rest = re.sub(r"(?ms)^conditions = (\[.*?^\]|\[.*?\])\n", "", path.read_text(encoding="utf-8"))
    path.write_text(f"conditions = [{json.dumps(text)}]\n{rest}", encoding="utf-8")
    return f"condition {text[:30]!r}"


def weights_of(path: Path, rng: random.Random) -> str:
    """A safetensors file with another header or with other numbers."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header, body = json.loads(raw[8 : 8 + size]), bytearray(raw[8 + size :])
    action = rng.choice(("header", "header", "header", "length", "numbers", "numbers", "raw"))
    if action == "length":
        size = rng.choice((0, 1, size - 1, size + 1, 2**32, 2**63, 2**64 - 1, len(raw)))
        path.write_bytes(struct.pack("<Q", size) + raw[8:])
        return f"header length {size}"
    if action == "numbers" and len(body) >= 4:
        name = rng.choice(("nan", "inf", "-inf", "3e38"))
        place = rng.randrange(len(body) // 4) * 4
        body[place : place + 4] = struct.pack("<f", float(name))
        path.write_bytes(raw[: 8 + size] + bytes(body))
        return f"a weight is {name}"
    text, damage = _damage_header(header, rng) if action == "header" else (rng.choice(RAW_JSON), "header of raw JSON")
    encoded = text.encode("utf-8", "surrogatepass")
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + bytes(body))
    return damage


def _damage_header(header: dict[str, Any], rng: random.Random) -> tuple[str, str]:
    names = [name for name in header if name != "__metadata__"]
    if rng.random() < 0.3 or not names:
        return _damage_json(json.dumps(header), rng)
    entry = header[rng.choice(names)]
    part = rng.choice(("shape", "dtype", "data_offsets"))
    new = {
        "shape": rng.choice(
            ([], [0], [10**9, 10**9], [-1, 3], [2**63], [1] * 1000, [1, *entry["shape"]], entry["shape"][::-1])
        ),
        "dtype": rng.choice(("F16", "F64", "I64", "BF16", "BOOL", "F8_E4M3", "U8", "", "X" * 1000)),
        "data_offsets": rng.choice(([0, 0], [0, 10**12], [8, 4], [-4, 4], [0, 2**64], [1], [4, 8])),
    }[part]
    entry[part] = new
    return json.dumps(header), f"{part} {str(new)[:30]}"


def database_of(path: Path, rng: random.Random) -> str:
    """A SQLite file with another value in a row, without a table, or with damaged bytes."""
    if rng.random() < 0.4:
        return bytes_of(path, rng)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice(tables)
        if rng.random() < 0.15:
            database.execute(f"DROP TABLE {table}")
            return f"without the table {table}"
        filled = [t for t in tables if database.execute(f"SELECT count(*) FROM {t}").fetchone()[0]]
        table = rng.choice(filled)
        column = rng.choice([row[1] for row in database.execute(f"PRAGMA table_info({table})")])
        new = rng.choice((*TEXTS, 0, -1, 2**62, 0.5, 1e308, None, b"\xff\x00", *(raw[:50_000] for raw in RAW_JSON)))
        with contextlib.suppress(sqlite3.Error):
            database.execute(f"UPDATE {table} SET {column} = ?", (new,))
        return f"{table}.{column} = {str(new)[:30]!r}"


def table_of(path: Path, rng: random.Random) -> str:
    """Damage a cell, a row or the header of a CSV or TSV file."""
    separator = "\t" if path.suffix == ".tsv" else ","
    rows = [line.split(separator) for line in path.read_text(encoding="utf-8").splitlines()]
    name = rng.choice(list(TABLE_CHANGES))
    number = rng.choice((0, 0, rng.randrange(len(rows))))  # the header, or any row
    TABLE_CHANGES[name](rows, number, rng)
    lines = "".join(f"{separator.join(row)}\n" for row in rows)
    path.write_text(lines, encoding="utf-8", errors="surrogatepass", newline="")
    return f"row {number + 1}: {name}"


def _set_cell(rows: list[list[str]], number: int, rng: random.Random) -> None:
    rows[number][rng.randrange(len(rows[number]))] = rng.choice(CELLS)


CELLS = ('"', '""', '"a', "", " ", "\0", "\ud800", "\ufeff", "\x1b[31m", "\u202e", "a\rb", "\u2028", "label", "9" * 5000, "x" * 200_000, "[]", "{}", "nan", "²", "O", "I-x", "B-", "-x")  # fmt: skip
TABLE_CHANGES: dict[str, Callable[[list[list[str]], int, random.Random], object]] = {
    "another cell": _set_cell,
    "no cells": lambda rows, number, rng: rows[number].clear(),
    "a cell fewer": lambda rows, number, rng: rows[number].pop(),
    "thousands of cells": lambda rows, number, rng: rows[number].extend(["a"] * 5000),
    "all cells alike": lambda rows, number, rng: rows[number].__setitem__(slice(None), [rows[number][0]] * len(rows[number])),
    "cells reversed": lambda rows, number, rng: rows[number].reverse(),
    "upper case": lambda rows, number, rng: rows[number].__setitem__(slice(None), [cell.upper() for cell in rows[number]]),
    "no such row": lambda rows, number, rng: rows.pop(number),
    "nothing after it": lambda rows, number, rng: rows.__delitem__(slice(number + 1, None)),
    "once more": lambda rows, number, rng: rows.insert(number, list(rows[number])),
    "one column of many labels": lambda rows, number, rng: [row.__setitem__(-1, f"{n}") for n, row in enumerate(rows)],
}  # fmt: skip
