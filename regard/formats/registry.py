"""The reader of every suffix: formats that are built in, and those that plug-ins register."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from regard.errors import ConfigError, FormatError, RegardError
from regard.formats import jsonl, po, tmx, tsv, xliff
from regard.formats.pair import Pair
from regard.plugins import Registry, describe_failure

if TYPE_CHECKING:
    from regard.formats.document import Document

Reader = Callable[[Path, str, str], Iterable[Pair]]
"""A file and the codes of source and target, "" if unknown -> its pairs."""
ReaderFunction = TypeVar("ReaderFunction", bound=Reader)
READERS: dict[str, Reader] = {
    ".tsv": tsv.read,
    ".jsonl": jsonl.read,
    ".po": po.read,
    ".pot": po.read,
    ".tmx": tmx.read,
    **dict.fromkeys(xliff.SUFFIXES, xliff.read),
}
DOCUMENT_METHODS = ("fill", "check_segment", "write")


@dataclass(frozen=True)
class FileFormat:
    """A format of a plug-in: how its pairs are read and, if it is translated in place, how it is opened for that."""

    suffix: str
    read: Reader
    document: "Callable[[Path, str, str], Document] | None"

    def read_pairs(self, path: Path, source: str, target: str) -> Iterator[Pair]:
        """The pairs of a file; what the plug-in does wrong is a FormatError that names it."""
        where = f"{path}: the reader of {self.suffix}"
        try:
            pairs = self.read(path, source, target)
            if not isinstance(pairs, Iterable):
                raise FormatError(
                    f"{where} returned {pairs!r:.80}; expected an iterator of regard.formats.Pair objects"
                )
            for pair in pairs:
                if not (isinstance(pair, Pair) and isinstance(pair.source, str) and isinstance(pair.target, str)):
                    raise FormatError(
                        f"{where} yielded {pair!r:.80}; expected regard.formats.Pair objects of two strings"
                    )
                yield pair
        except RegardError:
            raise
        except Exception as error:
            raise FormatError(f"{where} failed: {describe_failure(error)}") from error

    def open_document(self, path: Path, source: str, target: str) -> "Document":
        assert self.document is not None
        try:
            return self.document(path, source, target)
        except RegardError:
            raise
        except Exception as error:
            raise FormatError(f"{path}: cannot be opened as {self.suffix}: {describe_failure(error)}") from error


FORMATS: Registry[FileFormat] = Registry(
    "file format", (*READERS, ".gz", ".toml"), r"\.[a-z0-9_-]+", "'.csv', in lower case"
)


def register_format(
    suffix: str, *, document: "Callable[[Path, str, str], Document] | None" = None
) -> Callable[[ReaderFunction], ReaderFunction]:
    """Register a reader, `read(path, source, target) -> Iterator[Pair]`, for files with this suffix (before .gz).

    `source` and `target` are language codes, "" if unknown; `regard.formats.read_lines` reads a file that may be
    compressed. `document` is a class with the interface of `regard.formats.Document`, if such files can be translated
    in place; without it they hold pairs only.
    """
    FORMATS.require_name(suffix)

    def register(read: ReaderFunction) -> ReaderFunction:
        if not callable(read) or isinstance(read, type):
            raise ConfigError(
                f"file format '{suffix}': {read!r} is not a function; expected read(path, source, target), which "
                f"yields Pairs"
            )
        missing = [name for name in DOCUMENT_METHODS if document is not None and not hasattr(document, name)]
        if missing:
            raise ConfigError(
                f"file format '{suffix}': document={document!r} has no {missing[0]}; expected a class with the "
                f"interface of regard.formats.Document"
            )
        FORMATS.register(suffix, FileFormat(suffix, read, document), read)
        return read

    return register


def find_reader(suffix: str) -> Reader | None:
    """The reader of files with a suffix; None for plain text."""
    if suffix in READERS:
        return READERS[suffix]
    file_format = FORMATS.find(suffix)
    return file_format.read_pairs if file_format else None
