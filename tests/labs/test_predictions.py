"""What a class predicted: read from a CSV file, and drawn beside what was measured."""

import pytest

from regard.errors import FormatError
from regard.labs.suite.measurement import MeasuredPart
from regard.labs.suite.predictions import draw_predictions, parse_number, read_predictions
from regard.labs.verdict import Verdict

LABS = ("far", "near")
PART = MeasuredPart("accuracy", Verdict.HOLDS, 0.75, (0.7, 0.8), "0.75 [0.7, 0.8]", "at least 0.5")


def read(tmp_path, text):
    path = tmp_path / "answers.csv"
    path.write_bytes(text.encode())
    return read_predictions(path, LABS)


def test_predictions_are_read_by_lab_whatever_else_the_table_has(tmp_path):
    text = "\ufeffName,Prediction,Lab\r\nA,0.3,far\r\nB,25%,far\r\nC,,far\r\n\r\nA,-7,near\r\n"
    assert read(tmp_path, text) == {"far": [0.3, 0.25], "near": [-7.0]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: there is no column 'lab'"),
        ("lab,number\nfar,3\n", "line 1: there is no column 'prediction'"),
        ("lab,prediction\nfar,3\nfarr,3\n", "line 3: there is no lab 'farr'"),
        ("lab,prediction\nfar,much\n", "line 2: 'much' is not a number"),
        ("lab,prediction\nfar,nan\n", "line 2: 'nan' is not a number"),
        ("lab,prediction\nfar\n", "line 2: 1 columns, but the first line has 2"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path, text, sentence):
    with pytest.raises(FormatError, match=sentence):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(FormatError, match=r"none\.csv cannot be read: No such file"):
        read_predictions(tmp_path / "none.csv", LABS)


@pytest.mark.parametrize("values", [[0.3], [0.75, 0.75], [0.1, 0.2, 0.2, 0.9, 3.0]])
def test_every_answer_is_in_a_bar_and_the_measurement_is_marked(values):
    chart = draw_predictions(values, PART)
    bins = chart.spec["datasets"]["bins"]
    assert sum(one["count"] for one in bins) == len(values)
    assert chart.spec["datasets"]["rules"] == [{"x": 0.75, "name": "measured"}]
    assert ">measured</text>" in chart.to_svg()


def test_numbers_are_what_people_type():
    assert parse_number("30%", "x") == pytest.approx(0.3)
    assert parse_number("0,3", "x") == 0.3
    with pytest.raises(FormatError, match=r"x: '1,000\.5' is not a number"):
        parse_number("1,000.5", "x")
