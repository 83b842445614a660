"""Documents, queries, judgments and runs are read as people have them; what is wrong is said with its line."""

import json
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats.retrieval import (
    DocumentColumns,
    SearchDocument,
    SearchQuery,
    read_documents,
    read_judgments,
    read_queries,
    read_run,
    write_run,
)

ROWS = [("d1", "A title", "Some text."), ("7", "", "Ünïcode, “quotes”")]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path, **columns: str) -> list[tuple[str, str, str]]:
    return [(one.id, one.title, one.text) for one in read_documents([path], DocumentColumns(**columns))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", "".join(json.dumps({"_id": i, "title": t, "text": x}) + "\n" for i, t, x in ROWS)),
        ("b.jsonl", "".join(json.dumps({"docid": i, "title": t or None, "contents": x}) + "\n\n" for i, t, x in ROWS)),
        ("c.tsv", "id\ttitle\ttext\n" + "".join("\t".join(row) + "\n" for row in ROWS)),
        ("d.tsv", "".join("\t".join(row) + "\n" for row in ROWS)),  # no header: id, title, text
        ("e.csv", "text;docno;year;Title\n" + "".join(f'"{x}";{i};1;{t}\n' for i, t, x in ROWS)),
    ],
)
def test_documents_of_every_format(tmp_path: Path, name: str, text: str):
    assert read(write(tmp_path / name, text)) == ROWS


def test_columns_that_have_other_names_are_named(tmp_path: Path):
    table = write(tmp_path / "a.csv", "nr,was,body,inhalt\nx1,T,no,yes\n")
    assert read(table, id="nr", title="was", text="inhalt") == [("x1", "T", "yes")]
    assert read(table, id="nr") == [("x1", "", "no")]  # the title is optional
    with pytest.raises(FormatError, match=r"which column is the id\? It has: 'nr', 'was'.*--id-column"):
        read(table)
    with pytest.raises(FormatError, match="has no column 'x'"):
        read(table, id="x")
    assert read(write(tmp_path / "b.tsv", "p\tx\tq\n"), id="2", text="3") == [("x", "", "q")]
    with pytest.raises(FormatError, match="has no column 4; its first row has 3 columns"):
        read(tmp_path / "b.tsv", id="4", text="3")


def test_two_columns_without_a_header_are_id_and_text(tmp_path: Path):
    assert read(write(tmp_path / "a.tsv", "7\tsome words\n")) == [("7", "", "some words")]
    with pytest.raises(FormatError, match=r"has no header\. Its first row has 1: 'a'; 2: 'b'; 3: 'c'; 4: 'd'"):
        read(write(tmp_path / "b.tsv", "a\tb\tc\td\n"))


def test_a_folder_of_texts_has_their_paths_as_ids(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    write(tmp_path / "b.txt", "two\nlines\n")
    write(tmp_path / "sub" / "a.txt", "three")
    write(tmp_path / "note.md", "no")
    assert [(one.id, one.text) for one in read_documents([tmp_path])] == [
        ("b.txt", "two\nlines"),
        ("sub/a.txt", "three"),
    ]
    assert [one.id for one in read_documents([tmp_path / "b.txt"])] == ["b.txt"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match=r"has no \.txt files"):
        list(read_documents([tmp_path / "empty"]))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"id": "x", "text": "y"}\n{"id": "", "text": "y"}\n', "a.jsonl:2: the document has no id"),
        ("a.jsonl", '{"id": "x", "text": ["y"]}\n', "a.jsonl:1: 'text' is a list; expected a text"),
        ("a.jsonl", '{"id": "x"}\n', "a.jsonl:1: which column is the text"),
        ("a.jsonl", "[1]\n", "a.jsonl:1: expected an object"),
        ("a.tsv", "id\ttext\nx\n", "a.tsv:2: has 1 columns; expected 2"),
        ("a.csv", "", "a.csv: is empty"),
        ("a.pdf", "x", r"a document \(.pdf\), which is not supported"),
        ("missing.jsonl", None, "missing.jsonl: no such file"),
    ],
)
def test_bad_documents_are_refused_with_their_line(tmp_path: Path, name: str, text: str | None, message: str):
    if text is not None:
        write(tmp_path / name, text)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / name)


def test_what_is_searched_is_title_and_text():
    assert SearchDocument("a", "T", "x y").content == "T x y" and SearchDocument("a", "", "x y").content == "x y"


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("q.jsonl", '{"_id": 3, "text": " one "}\n{"_id": "b", "text": "two"}\n', ["3", "b"]),
        ("q.tsv", "3\tone\nb\ttwo\n", ["3", "b"]),
        ("q.csv", "qid,query\n3,one\nb,two\n", ["3", "b"]),
        ("q.txt", "one\n\ntwo\n", ["1", "3"]),  # the numbers of the lines
    ],
)
def test_queries_of_every_format(tmp_path: Path, name: str, text: str, ids: list[str]):
    expected = [SearchQuery(*pair) for pair in zip(ids, ["one", "two"], strict=True)]
    assert read_queries(write(tmp_path / name, text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tone\n1\ttwo\n", r"q.tsv:2: the query '1' is a second one with this id; the first is .*q.tsv:1"),
        ("1\tone\n2\t \n", "q.tsv:2: the query '2' has no text"),
        (" \tone\n", "q.tsv:1: the query has no id"),
        ("qid\tx\n1\tone\n", r"which column is the text\? It has: 'qid', 'x'. Name it 'text'"),
        ("", "q.tsv: is empty"),
    ],
)
def test_bad_queries_are_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(FormatError, match=message):
        read_queries(write(tmp_path / "q.tsv", text))
    with pytest.raises(FormatError, match="has no queries"):
        read_queries(write(tmp_path / "q.txt", "\n\n"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qrels.txt", "q1 0 d1 2\n\nq1\t0\td2\t-1\nq2 0 d1 0\n"),
        ("qrels", "q1 d1 2\nq1 d2 -1\nq2 d1 0\n"),
        ("test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\nq2\td1\t0\n"),
        ("test.tsv", "q1\t0\td1\t2\nq1\t0\td2\t-1\nq2\t0\td1\t0\n"),
        ("qrels.jsonl", '{"qid": "q1", "docid": "d1", "relevance": 2}\n{"qid": "q1", "docid": "d2", "relevance": -1}\n'
         '{"qid": "q2", "docid": "d1", "relevance": 0}\n'),
    ],
)  # fmt: skip
def test_judgments_of_every_format(tmp_path: Path, name: str, text: str):
    assert read_judgments(write(tmp_path / name, text)) == {"q1": {"d1": 2, "d2": -1}, "q2": {"d1": 0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 0 d1 2\nq1 0 d1 2\n", "qrels:2: a second judgment of document 'd1' for query 'q1'"),
        ("q1 0 d1 good\n", "qrels:1: the grade is 'good'; expected a whole number"),
        (f"q1 0 d1 {'9' * 5000}\n", "qrels:1: the grade is '999"),
        ("q1 0 d1 2 x\n", "qrels:1: has 5 columns; expected query, 0, document and grade"),
        ("\n", "qrels: has no judgments"),
    ],
)
def test_bad_judgments_are_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(FormatError, match=message):
        read_judgments(write(tmp_path / "qrels", text))


def test_a_run_that_is_written_is_read(tmp_path: Path):
    lists = {"q1": {"d2": 0.0123456791, "ä": -1.5}, "q2": {"d1": 3.25}}
    write_run(tmp_path / "out.trec", lists.items(), "mine")
    assert read_run(tmp_path / "out.trec") == lists
    assert (tmp_path / "out.trec").read_text(encoding="utf-8").split("\n")[1] == "q1 Q0 ä 2 -1.5 mine"
    with pytest.raises(FormatError, match=r"the id 'my notes\.txt' has a blank"):
        write_run(tmp_path / "out.trec", [("q", {"my notes.txt": 1.0})], "mine")
    assert read_run(tmp_path / "out.trec") == lists  # a failure leaves the old file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 Q0 d1 1 0.5\n", "run:1: has 5 columns; expected query, Q0, document, rank, score and tag"),
        ("q1 Q0 d1 1 0.5 t\nq1 Q0 d1 2 0.4 t\n", "run:2: document 'd1' is ranked twice for query 'q1'"),
        ("q1 Q0 d1 1 nan t\n", "run:1: the score is 'nan'; expected a number"),
        ("q1 Q0 d1 1 1e999 t\n", "run:1: the score is '1e999'"),
        ("q1 Q0 d1 1 x t\n", "run:1: the score is 'x'"),
        ("", "run: is empty"),
    ],
)
def test_bad_runs_are_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(FormatError, match=message):
        read_run(write(tmp_path / "run", text))
