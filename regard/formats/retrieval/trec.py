"""Judgments (qrels) and ranked lists (runs) in the formats of TREC, which trec_eval reads.

query 0 document grade                  a judgment; BEIR's tables with the columns query-id, corpus-id and score too
query Q0 document rank score tag        a line of a run; the order of lines and the ranks in them mean nothing
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from regard.errors import FormatError
from regard.formats import files, text
from regard.formats.retrieval.fields import Field, read_fields

QUERY_NAMES = ("query-id", "query_id", "qid", "query", "topic")
DOCUMENT_NAMES = ("corpus-id", "corpus_id", "doc_id", "docid", "doc-id", "docno", "document", "document_id")
GRADE_NAMES = ("score", "grade", "relevance", "rel", "label")
FIELDS = (Field("query", QUERY_NAMES), Field("document", DOCUMENT_NAMES), Field("grade", GRADE_NAMES))
JUDGMENT_COLUMNS = (4, 3)
"""With the column that trec_eval ignores, and without."""
RUN_COLUMNS = 6
MAX_GRADE = 1000


def read_judgments(path: Path) -> dict[str, dict[str, int]]:
    """Query -> document -> grade."""
    judgments: dict[str, dict[str, int]] = {}
    for query, document, grade, where in _read_judgment_rows(path):
        if not query or not document:
            raise FormatError(f"{where}: the judgment has no id of a {'document' if query else 'query'}")
        grades = judgments.setdefault(query, {})
        if document in grades:
            raise FormatError(f"{where}: a second judgment of document {document!r} for query {query!r}; keep one")
        grades[document] = _parse_grade(grade, where)
    if not judgments:
        raise FormatError(f"{path}: has no judgments; expected lines of query, 0, document and grade")
    return judgments


def _read_judgment_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    if files.format_suffix(path) in (".csv", ".jsonl") or _has_header(path):
        for (query, document, grade), where in read_fields(path, FIELDS):
            yield query.strip(), document.strip(), grade.strip(), where
        return
    for cells, where in _read_cells(path):
        if len(cells) not in JUDGMENT_COLUMNS:
            raise FormatError(f"{where}: has {len(cells)} columns; expected query, 0, document and grade")
        yield cells[0], cells[-2], cells[-1], where


def _has_header(path: Path) -> bool:
    """Whether a .tsv begins with the names of columns, as BEIR's do."""
    if files.format_suffix(path) != ".tsv":
        return False
    first, _ = next(_read_cells(path), ([""], ""))
    return first[0].lower() in QUERY_NAMES


def _parse_grade(grade: str, where: str) -> int:
    try:
        value = int(grade)
    except ValueError:
        value = MAX_GRADE + 1
    if abs(value) > MAX_GRADE:
        raise FormatError(f"{where}: the grade is {grade[:40]!r}; expected a whole number, 0 for not relevant")
    return value


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Query -> document -> score, of another system."""
    rankings: dict[str, dict[str, float]] = {}
    for cells, where in _read_cells(path):
        if len(cells) != RUN_COLUMNS:
            raise FormatError(f"{where}: has {len(cells)} columns; expected query, Q0, document, rank, score and tag")
        query, _, document, _, score, _ = cells
        scores = rankings.setdefault(query, {})
        if document in scores:
            raise FormatError(f"{where}: document {document!r} is ranked twice for query {query!r}")
        scores[document] = _parse_score(score, where)
    if not rankings:
        raise FormatError(f"{path}: is empty; expected lines of query, Q0, document, rank, score and tag")
    return rankings


def _parse_score(score: str, where: str) -> float:
    try:
        value = float(score)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"{where}: the score is {score[:40]!r}; expected a number")
    return value


def write_run(path: Path, rankings: Iterable[tuple[str, Mapping[str, float]]], tag: str) -> None:
    """Write ranked lists, each with its query and its documents in order; it replaces an old file once complete."""
    with files.create_binary(path) as file:
        for query, scores in rankings:
            for rank, (document, score) in enumerate(scores.items(), start=1):
                file.write(f"{_cell(query)} Q0 {_cell(document)} {rank} {score:.9g} {tag}\n".encode())


def _cell(name: str) -> str:
    if not name or name.split() != [name]:
        raise FormatError(f"the id {name!r} has a blank, which ends a column in a run of TREC; give it another id")
    return name


def _read_cells(path: Path) -> Iterator[tuple[list[str], str]]:
    for number, line in enumerate(text.read_lines(path), start=1):
        if cells := line.split():
            yield cells, f"{path}:{number}"
