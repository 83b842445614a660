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
from regard.formats.labeled.columns import SAMPLE_ROWS

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
        ("a.csv", "a,b\nc,d\n", {}, r"cannot tell which .*first row has 1: 'a', 2: 'b'\); give"),
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


def test_long_tables_are_read_to_their_end_and_short_rows_are_counted(tmp_path):
    rows = [(f"text {n}", f"class{n % 7}", "more") for n in range(SAMPLE_ROWS + 7)]
    path = write_csv(tmp_path / "a.csv", [("text", "label", "more"), *rows])
    assert read(path) == [(text, (label,)) for text, label, _ in rows]
    path = write_csv(tmp_path / "b.csv", [("text", "label", "more"), ("a", "x"), ("b",)])
    with pytest.raises(FormatError) as error:
        read(path)
    assert str(error.value) == f"{path}:3: has 1 columns; expected 3, as in the first row"
    path = write_csv(tmp_path / "c.csv", [("text", "label")])
    assert read(path) == []


def test_texts_are_stripped_and_labels_are_not(tmp_path):
    path = write_csv(tmp_path / "a.csv", [("text", "text_pair", "label"), (" a ", " b ", " x "), ("c", "d", " ")])
    found = [(e.text, e.text_pair, e.labels) for e in read_labeled_texts([path])]
    assert found == [("a", "b", (" x ",)), ("c", "d", ())]
    path = tmp_path / "a.jsonl"
    path.write_text('{"premise": " a ", "hypothesis": " b ", "label": ["x", " "]}\n')
    assert list(read_labeled_texts([path])) == [LabeledText("a", ("x",), "b", f"{path}:1")]
    path.write_text('{"premise": "a", "hypothesis": null, "label": "x"}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl:1: 'hypothesis' is NoneType; expected a text"):
        read(path)


def test_blank_lines_of_fasttext_are_passed_over_and_counted(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n  \n__label__x  a   b __label__c\n__label__y\n")
    assert list(read_labeled_texts([path])) == [
        LabeledText("a b __label__c", ("x",), None, f"{path}:3"),
        LabeledText("", ("y",), None, f"{path}:4"),
    ]
    path.write_text("\n\n")
    with pytest.raises(FormatError, match="has no labels"):
        read(path)


def test_folders_that_are_hidden_are_no_classes_and_those_inside_a_class_are(tmp_path):
    for name in (".git/1.txt", "b/x/2.txt", "b/1.txt.gz", "a/3.txt", "4.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        content = f" {name}\n\n".encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    found = [(e.text, e.labels, e.location) for e in read_labeled_texts([tmp_path])]
    assert found == [
        ("a/3.txt", ("a",), f"{tmp_path}/a/3.txt:1"),
        ("b/1.txt.gz", ("b",), f"{tmp_path}/b/1.txt.gz:1"),
        ("b/x/2.txt", ("b",), f"{tmp_path}/b/x/2.txt:1"),
    ]


def test_files_follow_one_another_and_a_line_has_a_limit(tmp_path):
    one, two = write_csv(tmp_path / "a.csv", [("text", "label"), ("a", "x")]), tmp_path / "b.txt"
    two.write_text("__label__y " + "b" * 50 + "\n")
    assert [e.labels for e in read_labeled_texts([two, str(one)])] == [("y",), ("x",)]
    for path in (one, two):
        with pytest.raises(FormatError, match=r":1: line 1 has more than 5 bytes"):
            list(read_labeled_texts([path], max_line_bytes=5))


def test_several_labels_are_written_as_a_list_and_none_as_an_empty_one(tmp_path):
    path = tmp_path / "a.jsonl"
    examples = [LabeledText("é", ("x",)), LabeledText("b", ("x", "y"), "c"), LabeledText("d", ())]
    write_labeled_texts(path, examples)
    assert path.read_text(encoding="utf-8") == (
        '{"text": "é", "label": "x"}\n{"text": "b", "text_pair": "c", "labels": ["x", "y"]}\n'
        '{"text": "d", "labels": []}\n'
    )
