"""Queries: tables with columns for id and text, or a text file with one on each line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, text
from regard.formats.retrieval.fields import TABLE_SUFFIXES, Field, read_fields
from regard.formats.unsupported import require_text_suffix

FIELDS = (
    Field("id", ("id", "_id", "qid", "query_id", "query-id")),
    Field("text", ("text", "query", "question", "title")),
)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question to the documents."""

    id: str
    text: str


def read_queries(path: Path) -> list[SearchQuery]:
    """The queries of a file; lines of a text file have their numbers as ids, and blank ones are skipped."""
    if files.format_suffix(path) not in TABLE_SUFFIXES:
        require_text_suffix(path, TABLE_SUFFIXES)
        queries = list(number_queries(text.read_lines(path)))
    else:
        queries = list(_read_table(path))
    if not queries:
        raise FormatError(f"{path}: has no queries; expected one on each line, or columns for id and text")
    return queries


def number_queries(lines: Iterable[str]) -> Iterator[SearchQuery]:
    """Lines that are not blank, with their numbers as ids."""
    return (SearchQuery(str(n), line.strip()) for n, line in enumerate(lines, start=1) if line.strip())


def _read_table(path: Path) -> Iterator[SearchQuery]:
    locations: dict[str, str] = {}
    for (identifier, content), where in read_fields(path, FIELDS):
        name = identifier.strip()
        if not name:
            raise FormatError(f"{where}: the query has no id; every query needs one")
        if name in locations:
            raise FormatError(
                f"{where}: the query {name!r} is a second one with this id; the first is {locations[name]}"
            )
        if not content.strip():
            raise FormatError(f"{where}: the query {name!r} has no text; write one, or delete the row")
        locations[name] = where
        yield SearchQuery(name, content.strip())
