"""Rows of tables, and cells of JSON."""

import csv

import pytest

from regard.errors import FormatError
from regard.formats.labeled.table import MAX_CELL_CHARS, convert_cell, find_delimiter, read_objects, read_rows


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("a", ","),
        ("", ","),
        ("a,b;c", ","),
        ("a;b;c,d", ";"),
        ("a|b", "|"),
        ("a\tb", "\t"),
        ('"a;b;c;d",e', ","),
        ('a;"b,c,d";"e,f"', ";"),
    ],
)
def test_the_most_frequent_delimiter_outside_of_quotes_separates(line: str, delimiter: str):
    assert find_delimiter(line) == delimiter


def test_blank_lines_are_no_rows_and_every_row_knows_its_line(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\n\n  \n\t\nc\n")
    found = [(row.cells, row.location.rpartition(":")[2]) for row in read_rows(tmp_path / "a.tsv")]
    assert found == [(("a", "b"), "1"), (("", ""), "4"), (("c",), "5")]
    (tmp_path / "a.csv").write_text('\na,"b\nc"\n\nd,e\n')
    found = [(row.cells, row.location.rpartition(":")[2]) for row in read_rows(tmp_path / "a.csv")]
    assert found == [(("a", "b\nc"), "2"), (("d", "e"), "5")]


def test_the_limit_of_a_cell_is_that_of_before_when_all_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    before, rows = csv.field_size_limit(), read_rows(tmp_path / "a.csv")
    next(rows)
    assert csv.field_size_limit() == MAX_CELL_CHARS != before and list(rows) == []
    assert csv.field_size_limit() == before


def test_values_of_json_are_texts(tmp_path):
    values = ["x", None, 3, 2.5, True, ["x", 3, False], []]
    assert [convert_cell(value, "w", "c") for value in values] == [
        *("x", None, "3", "2.5", "true"),
        ("x", "3", "false"),
        (),
    ]
    for value in ({"a": 1}, [None], [["x"]]):
        with pytest.raises(FormatError, match=r"w: 'c' is .*; expected a text, or a list of texts"):
            convert_cell(value, "w", "c")
    (tmp_path / "a.jsonl").write_text('\n{"a": 1}\n  \n{"b": 2}\n')
    found = [(row, where.rpartition(":")[2]) for row, where in read_objects(tmp_path / "a.jsonl")]
    assert found == [({"a": 1}, "2"), ({"b": 2}, "4")]
