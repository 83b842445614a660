"""Plain text, one sentence a line, and two such files side by side.

A line ends at a line feed and nowhere else. `str.splitlines` would also cut at U+2028, U+0085 and other marks that
occur inside sentences, and shift every pair after them.
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from regard.errors import FormatError
from regard.formats.pair import Pair

BOM = "\ufeff"


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their line ends; the last one may lack its line feed."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                yield _decode(raw.removesuffix(b"\n").removesuffix(b"\r"), path, number)
    except FileNotFoundError:
        raise FormatError(f"{path}: no such file") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from None


def read(source: Path, target: Path) -> Iterator[Pair]:
    """The pairs of two aligned files: line n of one is the translation of line n of the other."""
    number = 0
    for number, (left, right) in enumerate(zip_longest(lines(source), lines(target)), start=1):
        if left is None or right is None:
            short, long = (source, target) if left is None else (target, source)
            raise FormatError(
                f"{short} has {number - 1} lines, {long} has {count(long)}; aligned files have equally many. "
                f"Line {number} of {long} has no partner."
            )
        yield Pair(left, right, f"{source}:{number}")
    if not number:
        raise FormatError(f"{source} and {target} are empty; expected one sentence a line")


def count(path: Path) -> int:
    """How many lines a file has, whether or not the last one ends."""
    return sum(1 for _ in lines(path))


def _decode(raw: bytes, path: Path, number: int) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path}:{number}: not UTF-8: byte {error.start + 1} of the line is 0x{raw[error.start]:02x}. "
            f"Convert the file first, for instance with `iconv -f latin1 -t utf-8`."
        ) from None
    return text.removeprefix(BOM) if number == 1 else text
