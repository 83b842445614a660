"""The format of each of several files, and the pairs of all of them in order."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES
from regard.formats import files, jsonl, text, tsv
from regard.formats.languages import closest_matches, match_score
from regard.formats.pair import Pair
from regard.formats.registry import find_reader
from regard.formats.unsupported import list_supported, require_text_suffix


def read_lines(path: Path, max_line_bytes: int = MAX_LINE_BYTES, streams: bool = False) -> Iterator[str]:
    """The lines of a UTF-8 file without their line ends; a file whose suffix names another format is refused."""
    require_text_suffix(path)
    return text.read_lines(path, max_line_bytes, streams)


def read_pairs(
    paths: Sequence[str | Path], source: str = "", target: str = "", max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Pair]:
    """The pairs of any number of files and folders.

    A file with a known suffix (before .gz) is read by its format; the others are aligned text files, two by two in the
    order given. Of a folder, all files with a known suffix are read, in order of their names; text files only if they
    have the same name and the two language codes as suffixes (x.en, x.fr).
    """
    input_paths = [Path(path) for path in paths]
    for file in input_paths:
        if not file.exists():
            raise FormatError(f"{file}: no such file")
        if not (file.is_file() or file.is_dir()):
            raise FormatError(f"{file}: a pipe or a device, which cannot be read twice; save it to a file first")
    groups = list(_group_files(input_paths, source, target))
    if not groups:
        raise FormatError(
            f"{_expected_files()}, got {_format_paths(input_paths)}{_language_hint(input_paths, source, target)}"
        )
    return _read_groups(groups, _format_paths(input_paths), source, target, max_line_bytes)


def are_two_texts(paths: Sequence[str | Path]) -> bool:
    """Whether these are two aligned text files and nothing else."""
    return len(paths) == 2 and not any(
        Path(path).is_dir() or find_reader(files.format_suffix(Path(path))) for path in paths
    )


def _read_groups(groups: list[list[Path]], names: str, source: str, target: str, max_line_bytes: int) -> Iterator[Pair]:
    empty = True
    for group in groups:
        for pair in _read_group(group, source, target, max_line_bytes):
            empty = False
            yield pair
    if empty:
        raise FormatError(f"{names}: no translated pairs; expected at least one that is complete and not fuzzy")


def _read_group(group: list[Path], source: str, target: str, max_line_bytes: int) -> Iterable[Pair]:
    read = find_reader(files.format_suffix(group[0]))
    if len(group) == 2 or read is None:
        return text.read(group[0], group[1], max_line_bytes)
    if read in (tsv.read, jsonl.read):
        return read(group[0], source, target, max_line_bytes)
    return read(group[0], source, target)


def _group_files(input_paths: list[Path], source: str, target: str) -> Iterator[list[Path]]:
    """The files that are read together: one file of pairs, or two text files."""
    unpaired: Path | None = None
    for file in input_paths:
        if file.is_dir():
            yield from _group_folder(file, source, target)
        elif find_reader(files.format_suffix(file)):
            yield [file]
        elif unpaired is None:
            require_text_suffix(file)
            unpaired = file
        else:
            require_text_suffix(file)
            yield [unpaired, file]
            unpaired = None
    if unpaired is not None:
        hint = _language_hint(input_paths, source, target) or _tsv_hint(unpaired)
        raise FormatError(f"{_expected_files()}, got {_format_paths(input_paths)}: {unpaired} has no partner{hint}")


def _group_folder(folder: Path, source: str, target: str) -> Iterator[list[Path]]:
    folder_files = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_hidden(path, folder))
    for path in folder_files:
        if find_reader(files.format_suffix(path)):
            yield [path]
        elif source and target and _has_language_suffix(path, source):
            yield [path, _find_partner(path, folder_files, target)]
        elif source and target and _has_language_suffix(path, target):
            _find_partner(path, folder_files, source)


def _has_language_suffix(path: Path, language: str) -> bool:
    """Whether a file has a language as its suffix: x.en for en, and for en-US."""
    return match_score(language, files.format_suffix(path)[1:]) > 0


def _find_partner(path: Path, folder_files: list[Path], language: str) -> Path:
    """The file of the same name in another language."""
    stem = files.strip_gzip_suffix(path).with_suffix("")
    same_stem = [other for other in folder_files if files.strip_gzip_suffix(other).with_suffix("") == stem]
    matches = closest_matches(language, [files.format_suffix(other)[1:] for other in same_stem])
    if not matches:
        raise FormatError(f"{path}: has no partner; expected {stem}.{language}")
    return same_stem[matches[0]]


def _expected_files() -> str:
    *others, last = list_supported()
    return (
        f"expected two aligned text files or one {', '.join(others)} or {last} file (or several, or a folder of them)"
    )


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _format_paths(input_paths: list[Path]) -> str:
    return " ".join(map(str, input_paths)) or "nothing"


def _tsv_hint(path: Path) -> str:
    """A hint if a file with another suffix holds columns."""
    with contextlib.suppress(FormatError):
        if "\t" in next(read_lines(path), ""):
            return f". It has columns: if they are source and target, rename it to {path.with_suffix('.tsv').name}"
    return ""


def _language_hint(input_paths: list[Path], source: str, target: str) -> str:
    folder = next((path for path in input_paths if path.is_dir()), None)
    if folder is None or (source and target):
        return ""
    return f". {folder} is a folder: set data.source and data.target to pair its text files by their suffixes"
