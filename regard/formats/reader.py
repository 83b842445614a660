"""Which format a set of files has, and the pairs of all of them, one after the other."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, jsonl, po, text, tmx, tsv, xliff
from regard.formats.languages import closeness, closest
from regard.formats.pair import Pair

READERS: dict[str, Callable[[Path, str, str], Iterator[Pair]]] = {
    ".tsv": tsv.read,
    ".jsonl": jsonl.read,
    ".po": po.read,
    ".pot": po.read,
    ".tmx": tmx.read,
    **dict.fromkeys(xliff.ENDINGS, xliff.read),
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
        if not (file.is_file() or file.is_dir()):
            raise FormatError(f"{file}: a pipe or a device, which cannot be read twice; save it as a file first")
    sets = list(_sets(given, source, target))
    if not sets:
        raise FormatError(f"{EXPECTED}, got {_listed(given)}{_hint(given, source, target)}")
    return _read(sets, _listed(given), source, target)


def are_two_texts(paths: Sequence[str | Path]) -> bool:
    """Whether these are two aligned text files and nothing else."""
    return len(paths) == 2 and not any(Path(path).is_dir() or files.suffix(Path(path)) in READERS for path in paths)


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
        hint = _hint(given, source, target) or _columns(waiting)
        raise FormatError(f"{EXPECTED}, got {_listed(given)}: {waiting} has no partner{hint}")


def _folder(folder: Path, source: str, target: str) -> Iterator[list[Path]]:
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_hidden(path, folder))
    for path in inside:
        if files.suffix(path) in READERS:
            yield [path]
        elif source and target and _speaks(path, source):
            yield [path, _partner(path, inside, target)]
        elif source and target and _speaks(path, target):
            _partner(path, inside, source)


def _speaks(path: Path, language: str) -> bool:
    """Whether a file is named after a language: x.en for en, and for en-US."""
    return closeness(language, files.suffix(path)[1:]) > 0


def _partner(path: Path, inside: list[Path], language: str) -> Path:
    """The file of the same name in another language."""
    stem = files.bare(path).with_suffix("")
    alike = [other for other in inside if files.bare(other).with_suffix("") == stem]
    near = closest(language, [files.suffix(other)[1:] for other in alike])
    if not near:
        raise FormatError(f"{path}: has no partner; expected {stem}.{language}")
    return alike[near[0]]


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _listed(given: list[Path]) -> str:
    return " ".join(map(str, given)) or "nothing"


def _columns(path: Path) -> str:
    """A word to whoever has pairs in columns under another name."""
    with contextlib.suppress(FormatError):
        if "\t" in next(read_lines(path), ""):
            return f". It has columns: if they are source and target, call it {path.with_suffix('.tsv').name}"
    return ""


def _hint(given: list[Path], source: str, target: str) -> str:
    folder = next((path for path in given if path.is_dir()), None)
    if folder is None or (source and target):
        return ""
    return f". {folder} is a folder: set data.source and data.target to pair its text files by their endings"
