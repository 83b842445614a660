"""Which format a set of files has."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.errors import FormatError
from regard.formats import text, tsv
from regard.formats.pair import Pair

READERS = {".tsv": tsv.read}
read_lines = text.lines


def read_pairs(paths: Sequence[str | Path]) -> Iterator[Pair]:
    """The pairs of one .tsv file, or of two aligned text files."""
    files = [Path(path) for path in paths]
    for file in files:
        if not file.exists():
            raise FormatError(f"{file}: no such file")
        if file.is_dir():
            raise FormatError(f"{file}: is a folder; expected a file")
    if len(files) == 1 and files[0].suffix in READERS:
        return READERS[files[0].suffix](files[0])
    if len(files) == 2:
        return text.read(*files)
    raise FormatError(f"expected two aligned text files or one .tsv file, got {' '.join(map(str, files)) or 'nothing'}")
