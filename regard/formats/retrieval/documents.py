"""Documents to be searched: tables with columns for id, title and text, folders of .txt files, single text files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, text
from regard.formats.labeled.columns import require_distinct
from regard.formats.retrieval.fields import MAX_RECORD_BYTES, TABLE_SUFFIXES, Field, read_fields
from regard.formats.unsupported import require_text_suffix

ID_NAMES = ("id", "_id", "docid", "doc_id", "docno", "document_id", "pid")
TITLE_NAMES = ("title", "headline", "heading", "subject")
TEXT_NAMES = ("text", "contents", "content", "body", "abstract", "passage", "document")


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A document that can be found."""

    id: str
    title: str
    """Empty where it has none."""
    text: str
    location: str = ""
    """Where it was read: file:line."""

    @property
    def content(self) -> str:
        """What is searched: title and text."""
        return f"{self.title} {self.text}" if self.title else self.text


@dataclass(frozen=True)
class DocumentColumns:
    """The columns of a table: names, or numbers from 1 on where it has no header; unset: recognized by their names."""

    id: str = ""
    title: str = ""
    text: str = ""


def read_documents(paths: Sequence[Path], columns: DocumentColumns | None = None) -> Iterator[SearchDocument]:
    """The documents of files and folders, in order; the id of a text file is its name."""
    for path in paths:
        if not path.exists():
            raise FormatError(f"{path}: no such file")
        if path.is_dir():
            yield from _read_folder(path)
        elif files.format_suffix(path) in TABLE_SUFFIXES:
            yield from _read_table(path, columns or DocumentColumns())
        else:
            require_text_suffix(path, TABLE_SUFFIXES)
            yield _read_file(path, path.name)


def _read_table(path: Path, columns: DocumentColumns) -> Iterator[SearchDocument]:
    if columns.title:
        require_distinct({"title": columns.title.lower(), "text": columns.text.lower()}, str(path))
    fields = (
        Field("id", ID_NAMES, columns.id, has_option=True),
        Field("title", TITLE_NAMES, columns.title, required=False),
        Field("text", TEXT_NAMES, columns.text, has_option=True),
    )
    for (identifier, title, content), where in read_fields(path, fields):
        if not identifier.strip():
            raise FormatError(f"{where}: the document has no id; every document needs one")
        yield SearchDocument(identifier.strip(), title.strip(), content.strip(), where)


def _read_folder(folder: Path) -> Iterator[SearchDocument]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and files.format_suffix(path) == ".txt")
    if not paths:
        raise FormatError(f"{folder}: has no .txt files; expected a folder of them, or a .jsonl, .tsv or .csv file")
    for path in paths:
        yield _read_file(path, path.relative_to(folder).as_posix())


def _read_file(path: Path, name: str) -> SearchDocument:
    content = "\n".join(text.read_lines(path, MAX_RECORD_BYTES))
    return SearchDocument(name, "", content.strip(), f"{path}:1")
