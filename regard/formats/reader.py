"""Which format a set of files has, and the pairs of all of them, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, jsonl, po, text, tmx, tsv, xliff
from regard.formats.languages import plain
from regard.formats.pair import Pair

READERS: dict[str, Callable[[Path, str, str], Iterator[Pair]]] = {
    ".tsv": tsv.read,
    ".jsonl": jsonl.read,
    ".po": po.read,
    ".pot": po.read,
    ".tmx": tmx.read,
    ".xlf": xliff.read,
    ".xliff": xliff.read,
}
EXPECTED = (
    "expected two aligned text files or one .tsv, .jsonl, .po, .tmx or .xlf file (or several, or a folder of them)"
)
read_lines = text.lines


def read_pairs(paths: Sequence[str | Path], source: str = "", target: str = "") -> Iterator[Pair]:
    """The pairs of any number of files and folders.

    A file with a known ending (.gz aside) is read by its format; the others are aligned text files, two by two in the
    order given. Of a folder, all files with a known ending are read, in order of their names; text files only if they
    are named alike and end in the two language codes (x.en, x.fr).
    """
    given = [Path(path) for path in paths]
    for file in given:
        if not file.exists():
            raise FormatError(f"{file}: no such file")
    sets = list(_sets(given, source, target))
    if not sets:
        raise FormatError(f"{EXPECTED}, got {_listed(given)}{_hint(given, source, target)}")
    return _read(sets, _listed(given), source, target)


def _read(sets: list[list[Path]], names: str, source: str, target: str) -> Iterator[Pair]:
    empty = True
    for one in sets:
        both = len(one) == 2
        for pair in text.read(*one) if both else READERS[files.suffix(one[0])](one[0], source, target):
            empty = False
            yield pair
    if empty:
        raise FormatError(f"{names}: no translated pair in it; expected at least one that is whole and not fuzzy")


def _sets(given: list[Path], source: str, target: str) -> Iterator[list[Path]]:
    """What is read together: one file of pairs, or two text files."""
    waiting: Path | None = None
    for file in given:
        if file.is_dir():
            yield from _folder(file, source, target)
        elif files.suffix(file) in READERS:
            yield [file]
        elif waiting is None:
            waiting = file
        else:
            yield [waiting, file]
            waiting = None
    if waiting is not None:
        hint = _hint(given, source, target)
        raise FormatError(f"{EXPECTED}, got {_listed(given)}: {waiting} has no partner{hint}")


def _folder(folder: Path, source: str, target: str) -> Iterator[list[Path]]:
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_hidden(path, folder))
    by_name = {(files.bare(path).with_suffix(""), plain(files.suffix(path)[1:])): path for path in inside}
    for path in inside:
        stem, code = files.bare(path).with_suffix(""), plain(files.suffix(path)[1:])
        if files.suffix(path) in READERS:
            yield [path]
        elif source and target and code in (plain(source), plain(target)):
            other = by_name.get((stem, plain(target if code == plain(source) else source)))
            if other is None:
                raise FormatError(
                    f"{path}: has no partner; expected {stem}.{target if code == plain(source) else source}"
                )
            if code == plain(source):
                yield [path, other]


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _listed(given: list[Path]) -> str:
    return " ".join(map(str, given)) or "nothing"


def _hint(given: list[Path], source: str, target: str) -> str:
    folder = next((path for path in given if path.is_dir()), None)
    if folder is None or (source and target):
        return ""
    return f". {folder} is a folder: set data.source and data.target to pair its text files by their endings"
