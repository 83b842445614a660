"""Plain text as documents, every character kept: line ends, blanks and blank lines are text to a language model.

A document is a file, a paragraph between blank lines, or a line. What separates two documents belongs to neither.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.files import MAX_LINE_BYTES, iter_lines
from regard.formats import files
from regard.formats.text import decode_line
from regard.formats.unsupported import require_text_suffix

FOLDER_SUFFIX = ".txt"
EXPECTED = "expected plain text in UTF-8"
NumberedLine = tuple[int, str]


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document, and where it begins."""

    text: str
    location: str = ""
    """file:line"""


def split_files(lines: Iterator[NumberedLine]) -> Iterator[NumberedLine]:
    """The whole file is one document."""
    yield 1, "".join(line for _, line in lines)


def split_paragraphs(lines: Iterator[NumberedLine]) -> Iterator[NumberedLine]:
    """Blank lines separate documents."""
    first, paragraph = 1, list[str]()
    for number, line in lines:
        if not line.strip():
            yield first, _strip_line_end("".join(paragraph))
            first, paragraph = number + 1, []
        else:
            paragraph.append(line)
    yield first, _strip_line_end("".join(paragraph))


def split_lines(lines: Iterator[NumberedLine]) -> Iterator[NumberedLine]:
    """Every line is a document."""
    for number, line in lines:
        yield number, _strip_line_end(line)


SEPARATORS: dict[str, Callable[[Iterator[NumberedLine]], Iterator[NumberedLine]]] = {
    "file": split_files,
    "blank-line": split_paragraphs,
    "line": split_lines,
}


def read_documents(
    paths: Sequence[str | Path],
    separator: str = "file",
    max_line_bytes: int = MAX_LINE_BYTES,
    folder_suffixes: Sequence[str] = (FOLDER_SUFFIX,),
) -> Iterator[DocumentText]:
    """The documents of files and of folders of .txt files, or of other suffixes; those without text are left out."""
    for path in map(Path, paths):
        if not path.exists():
            raise FormatError(f"{path}: no such file")
        is_empty = True
        for file in _list_files(path, folder_suffixes):
            for number, text in SEPARATORS[separator](_read_lines(file, max_line_bytes)):
                if text.strip():
                    is_empty = False
                    yield DocumentText(text, f"{file}:{number}")
        if is_empty:
            raise FormatError(f"{path}: {'has no text' if path.is_dir() else 'is empty'}; {EXPECTED}")


def _list_files(path: Path, folder_suffixes: Sequence[str]) -> list[Path]:
    if not path.is_dir():
        require_text_suffix(path, (*folder_suffixes, "a folder of such files"))
        return [path]
    paths = [
        file for file in sorted(path.rglob("*")) if file.is_file() and files.format_suffix(file) in folder_suffixes
    ]
    if not paths:
        raise FormatError(f"{path}: has no {' or '.join(folder_suffixes)} files; expected a document in each")
    return paths


def _read_lines(path: Path, max_line_bytes: int) -> Iterator[NumberedLine]:
    """The lines of a file with their line ends."""
    with files.open_binary(path) as file:
        for number, raw in enumerate(iter_lines(file, max_line_bytes), start=1):
            line_end = "\n" if raw.endswith(b"\n") else ""
            yield number, decode_line(raw.removesuffix(b"\n"), path, number) + line_end


def _strip_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")
