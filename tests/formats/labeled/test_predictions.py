"""Predictions are read from lines, labels of fastText and columns; a line is a text, even an empty one."""

import json

import pytest

from regard.errors import FormatError
from regard.formats.labeled.predictions import PREDICTION_NAMES, read_predictions


def write(path, content: str):
    path.write_text(content, encoding="utf-8")
    return path


def test_a_line_is_a_label(tmp_path):
    path = write(tmp_path / "a.txt", " x \n\ny z\n__label__u 0.9 __label__v\n__label__w\n")
    assert list(read_predictions(path)) == [("x",), (), ("y z",), ("u", "v"), ("w",)]


@pytest.mark.parametrize("name", PREDICTION_NAMES)
def test_a_column_of_predictions_is_known_by_its_name(tmp_path, name: str):
    path = write(tmp_path / "a.csv", f"id, {name.upper()} \n1,x\n2,\n3\n4,y\n")
    assert list(read_predictions(path)) == [("x",), (), (), ("y",)]
    path = write(tmp_path / "a.tsv", f"{name}\tid\n x\t1\n")
    assert list(read_predictions(path)) == [(" x",)]
    path = write(tmp_path / "a.jsonl", json.dumps({"id": 1, name: ["x", "y"]}) + "\n" + json.dumps({name: None}) + "\n")
    assert list(read_predictions(path)) == [("x", "y"), ()]


def test_a_column_may_be_named(tmp_path):
    assert list(read_predictions(write(tmp_path / "a.csv", "label,mine\nx,y\n"), "Mine")) == [("y",)]
    assert list(read_predictions(write(tmp_path / "a.jsonl", '{"label": "x", "mine": 3}\n'), "mine")) == [("3",)]
    with pytest.raises(FormatError, match=r"a\.csv: has no column 'other'; it has: 'label', 'mine'"):
        list(read_predictions(tmp_path / "a.csv", "other"))
    with pytest.raises(FormatError, match=r"b\.tsv: is empty; expected a header and a row with the predicted label"):
        list(read_predictions(write(tmp_path / "b.tsv", "")))
