"""Texts with labels are read from every usual format, and doubt is an error that lists the columns."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FormatError
from regard.formats.labeled import ColumnNames, LabeledText, read_labeled_texts, write_labeled_texts

ROWS = [("a b, c", "x"), ('he said "no"', "y"), ("two\nlines", "x"), ("naïve 日本", "z z")]


def read(path: Path, **columns: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(example.text, example.labels) for example in read_labeled_texts([path], ColumnNames(**columns))]


def write_csv(path: Path, rows, delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_has_quotes_and_line_breaks_in_cells(tmp_path, delimiter):
    path = write_csv(tmp_path / "a.csv", [("text", "category"), *ROWS], delimiter)
    assert read(path) == [(text, (label,)) for text, label in ROWS]
    locations = [example.location for example in read_labeled_texts([path])]
    assert [location.rpartition(":")[2] for location in locations] == ["2", "3", "4", "6"], "the line a row begins at"


def test_a_quotation_mark_in_tsv_is_text(tmp_path):
    (tmp_path / "a.tsv").write_text('sentence\tlabel\n"so-so \t0\na "b" \t1\n', encoding="utf-8")
    assert read(tmp_path / "a.tsv") == [('"so-so', ("0",)), ('a "b"', ("1",))]


def test_json_lines_have_one_label_or_several(tmp_path):
    rows = [{"text": "a", "label": "x"}, {"text": "b", "label": ["x", "y"]}, {"text": "c", "label": 3}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(tmp_path / "a.jsonl") == [("a", ("x",)), ("b", ("x", "y")), ("c", ("3",))]


def test_fasttext_lines_have_labels_first(tmp_path):
    (tmp_path / "train.txt").write_text("__label__x __label__y a b\n\n__label__z c\n")
    assert read(tmp_path / "train.txt") == [("a b", ("x", "y")), ("c", ("z",))]
    (tmp_path / "train.txt").write_text("__label__x a\nb\n")
    with pytest.raises(FormatError, match=r"train.txt:2: begins with no __label__…; got 'b'"):
        read(tmp_path / "train.txt")


def test_a_folder_is_a_class(tmp_path):
    for name, text in (("pos/1.txt", "good\nfilm"), ("neg/2.txt", "bad"), ("neg/notes.md", "no text")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read(tmp_path) == [("bad", ("neg",)), ("good\nfilm", ("pos",))]


def test_pairs_of_texts_are_recognized(tmp_path):
    path = write_csv(tmp_path / "a.csv", [("premise", "hypothesis", "label"), ("a", "b", "x")])
    assert list(read_labeled_texts([path])) == [LabeledText("a", ("x",), "b", f"{path}:2")]


def test_columns_are_named_or_numbered(tmp_path):
    path = write_csv(tmp_path / "a.csv", [("Body", "id", "Kind"), ("a", "1", "x")])
    assert read(path, text="body", label="Kind") == [("a", ("x",))]
    path = write_csv(tmp_path / "b.csv", [("s1", "1", "", "a b"), ("s1", "0", "*", "c d")])
    assert read(path, text="4", label="2") == [("a b", ("1",)), ("c d", ("0",))]


def test_without_a_header_the_column_that_repeats_is_the_label(tmp_path):
    rows = [(f"class{n % 3}", f"text number {n}") for n in range(20)]
    expected = [(text, (label,)) for label, text in rows]
    assert read(write_csv(tmp_path / "a.csv", rows)) == expected
    assert read(write_csv(tmp_path / "b.csv", [("kind of", "what was said"), *rows])) == expected, "an unusual header"


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("a.csv", "text,label\na,x\n", {"label": "kind"}, "has no column 'kind'; it has: 'text', 'label'"),
        ("a.csv", "id,title,label\n1,2,x\n", {}, "which column is the text. It has: 'id', 'title', 'label'"),
        ("a.csv", "a,b\nc,d\n", {}, r"no header.*first row has 1: 'a'; 2: 'b'. Give the numbers"),
        ("a.csv", "a,b\nc,d\n", {"text": "1", "label": "3"}, "has no column 3; its first row has 2 columns"),
        ("a.csv", "a,b\nc,d\n", {"text": "1", "label": "9" * 5000}, "has no column 9{40};"),
        ("a.csv", 'text,label\n"a,x\n', {}, r"a.csv:2: not a row of CSV"),
        ("a.csv", "text,label\na,x\nb\n", {}, r"a.csv:3: has 1 columns; expected 2"),
        ("a.csv", "", {}, "is empty; expected .csv"),
        ("a.jsonl", '{"text": 3, "label": "x"}\n', {}, r"a.jsonl:1: 'text' is int; expected a text"),
        ("a.jsonl", '{"text": "a", "label": {"x": 1}}\n', {}, r"'label' is .*expected a text, or a list of texts"),
        ("a.jsonl", "[1]\n", {}, r"a.jsonl:1: expected an object"),
        ("a.jsonl", "{\n", {}, r"a.jsonl:1: not valid JSON"),
        ("a.txt", "a sentence\n", {}, r"a.txt: has no labels; expected .csv, .tsv or .jsonl"),
        ("a.docx", "x", {}, r"a document \(.docx\), which is not supported"),
    ],
)
def test_doubt_is_an_error_that_says_what_was_found(tmp_path, name, content, columns, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / name, **columns)


def test_missing_and_empty_places_are_named(tmp_path):
    with pytest.raises(FormatError, match=r"nowhere.csv: no such file"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(FormatError, match=r"has no folder with .txt files"):
        read(tmp_path)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).map(str.strip)
LABEL = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(LabeledText, TEXT, st.lists(LABEL, min_size=1).map(tuple), st.none() | TEXT), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, examples):
    path = tmp_path_factory.mktemp("labels") / "a.jsonl"
    by_pair = [example for example in examples if (example.text_pair is None) == (examples[0].text_pair is None)]
    write_labeled_texts(path, by_pair)
    found = [(e.text, e.labels, e.text_pair) for e in read_labeled_texts([path])]
    assert found == [(e.text, e.labels, e.text_pair) for e in by_pair]


def test_compressed_files_are_read(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"text,label\na,x\n"))
    assert read(tmp_path / "a.csv.gz") == [("a", ("x",))]
