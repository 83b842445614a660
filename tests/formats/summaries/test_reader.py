"""Files of documents and their summaries."""

import json
from pathlib import Path

import pytest

from regard.errors import FormatError
from regard.formats.summaries import SummarizedDocument, SummaryColumns, read_documents


def read(path: Path, content: str, **columns: str) -> list[SummarizedDocument]:
    path.write_text(content, encoding="utf-8")
    return list(read_documents([path], SummaryColumns(**columns)))


def test_a_list_of_sentences_and_several_summaries(tmp_path: Path):
    row = {"source": ["One.", "", " Two\n lines. "], "target": ["a", "b"], "title": "T", "source_labels": [0, 1, 1]}
    (document,) = read(tmp_path / "a.jsonl", json.dumps(row))
    assert document.sentences == ("One.", "Two lines.") and document.references == ("a", "b")
    assert document.title == "T" and document.labels is None and document.is_divided
    assert document.location == f"{tmp_path / 'a.jsonl'}:1" and document.text == "One. Two lines."
    (labeled,) = read(tmp_path / "a.jsonl", json.dumps(row), labels="source_labels")
    assert labeled.labels == (0, 1)  # that of the empty sentence is gone with it


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("a.jsonl", '{"article": "One. Two.\\nThree.", "highlights": "a b"}', {}),
        ("a.jsonl", '{"x": "One. Two.\\nThree.", "source": "no", "y": "a b"}', {"source": "x", "summary": "y"}),
        ("a.csv", 'summary,text\na b,"One. Two.\nThree."\n', {}),
        ("a.csv", '"One. Two.\nThree.",a b\n', {}),
        ("a.csv", 'a b,"One. Two.\nThree."\n', {"source": "2", "summary": "1"}),
        ("a.csv", 'a b,"One. Two.\nThree."\n', {"source": "2"}),
        ("a.csv", 'a b,"One. Two.\nThree."\n', {"summary": "1"}),
        ("a.csv", '"One. Two.\nThree.",no,a b\n', {"summary": "3"}),
    ],
)
def test_a_text_is_read_by_lines_and_columns_by_name_number_or_place(tmp_path, name, content, columns):
    columns = {"target" if key == "summary" else key: value for key, value in columns.items()}
    (document,) = read(tmp_path / name, content, **columns)
    assert document.sentences == ("One. Two.", "Three.") and document.references == ("a b",)
    assert not document.is_divided


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("a.jsonl", '{"source": "a", "target": []}', {}, "a.jsonl:1: has no summary; complete the row"),
        ("a.jsonl", '{"source": "a", "target": null}', {}, "a.jsonl:1: has no summary"),
        ("a.jsonl", '{"source": "a"}', {}, "a.jsonl:1: which column is the text pair"),
        ("a.jsonl", '{"source": "a", "target": "b"}', {"source": "x"}, "has no column 'x'; it has: 'source', 'target'"),
        ("a.jsonl", '{"source": ["a"], "target": "b", "l": [0, 1]}', {"labels": "l"}, "has 2 labels for 1 sentences"),
        ("a.jsonl", '{"source": "a", "target": "b", "l": [1]}', {"labels": "l"}, "expected a list of sentences"),
        (
            "a.jsonl",
            '{"source": ["a"], "target": "b", "l": [2]}',
            {"labels": "l"},
            "has the label '2'; expected 0 or 1",
        ),
        ("a.jsonl", '{"x": "a"}', {"source": "x", "target": "X"}, "the column 'x' would be both the document and the"),
        ("a.csv", "source,target\na,b\n", {"target": "source"}, "would be both the document and the summary; name two"),
        (
            "a.tsv",
            "a\tb\n",
            {"source": "2", "target": "2"},
            "a.tsv: column 2 would be both the document and the summary",
        ),
        ("a.tsv", "a\n", {"source": "1"}, "has 1 columns; expected two: a document and its summary"),
        ("a.tsv", "a\tb\tc\nd\te\n", {}, "a.tsv:2: has 2 columns; expected 3, as in the first row"),
        ("a.tsv", "a\n", {}, "has 1 columns; expected two: a document and its summary"),
        ("a.tsv", "a\tb\n", {"labels": "l"}, "only .jsonl files have"),
        ("a.txt", "a\n", {}, "a.txt: is plain text; expected documents and their summaries"),
        ("a.jsonl", "", {}, "a.jsonl: is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(tmp_path, name, content, columns, message):
    with pytest.raises(FormatError) as error:
        read(tmp_path / name, content, **columns)
    assert message in str(error.value) and "\n" not in str(error.value)
