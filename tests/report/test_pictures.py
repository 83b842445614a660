"""Pictures: the same thing as a chart and as text, with every number where it belongs."""

from typing import Any

import pytest

from regard.errors import RegardError
from regard.report.chart import Chart
from regard.report.pictures import BarPicture, CurvePicture, MatrixPicture
from regard.report.table import Table

CURVES = Table.from_rows(
    {"width": x, "loss": y, "of": name, "low": y / 2, "high": 2 * y}
    for name, values in (("hidden", (1.0, 4.0, 16.0)), ("above", (8.0, 8.0, 8.0)), ("on top", (1.0, 4.0, 16.0)))
    for x, y in zip((2, 8, 32), values, strict=True)
)


def points(chart: Chart) -> list[dict[str, Any]]:
    return chart.spec["datasets"]["points"]


def test_a_curve_that_another_covers_is_drawn_wider_beneath_it():
    widths = {
        point["series"]: point["width"] for point in points(CurvePicture(CURVES, "width", "loss", "of").chart("t"))
    }
    assert widths["hidden"] > widths["above"] == widths["on top"]


def test_curves_that_cross_or_are_longer_do_not_cover_each_other():
    crossing = Table({"x": [1, 2, 1, 2], "y": [1.0, 2.0, 1.0, 3.0], "of": ["a", "a", "b", "b"]})
    assert {point["width"] for point in points(CurvePicture(crossing, "x", "y", "of").chart("t"))} == {2}
    longer = Table({"x": [1, 2, 3, 1, 2], "y": [1.0, 2.0, 9.0, 1.0, 2.0], "of": ["a", "a", "a", "b", "b"]})
    assert {point["width"] for point in points(CurvePicture(longer, "x", "y", "of").chart("t"))} == {2}


@pytest.mark.parametrize("log", ["", "x", "xy"])
def test_few_values_have_a_tick_each(log: str):
    chart = CurvePicture(CURVES, "width", "loss", "of", log=log).chart("t")
    axes = [layer["encoding"]["x"]["axis"]["values"] for layer in chart.spec["layer"]]
    assert axes == [[2, 8, 32]] * 2


def test_many_values_have_ticks_between_them():
    table = Table({"x": list(range(31)), "y": [float(n) for n in range(31)]})
    assert "values" not in CurvePicture(table, "x", "y").chart("t").spec["layer"][0]["encoding"]["x"]["axis"]


def test_curves_as_text_have_marks_ends_and_rules():
    text = CurvePicture(CURVES, "width", "loss", "of", log="x", rules={"chance": 8.0}).text(60)
    lines = text.splitlines()
    assert lines[0] == "loss   ● hidden   ○ above   ▲ on top   ┄ chance"
    assert lines[1].startswith("16 │") and lines[1].endswith("▲")
    assert lines[12].startswith(" 1 │▲")
    assert lines[-1].split() == ["2", "width", "32"]
    middle = lines[-2].index("└") + 1 + round((60 - 4) / 2)
    assert any("○" in line[middle - 1 : middle + 2] for line in lines[1:13])  # 8 is midway between 2 and 32
    assert max(map(len, lines)) <= 60


def test_curves_without_a_point_are_refused():
    with pytest.raises(RegardError, match="curves of 'y' over 'x': the table has no finite point to draw"):
        CurvePicture(Table({"x": [1], "y": [float("nan")]}), "x", "y").chart("t")
    with pytest.raises(RegardError, match="a logarithmic axis needs values above 0"):
        CurvePicture(Table({"x": [0, 1], "y": [1.0, 2.0]}), "x", "y", log="x").text(40)


def test_a_matrix_of_a_table_has_a_column_for_each_of_its_columns():
    table = Table({"a": [0.25, 0.5, None], "b": [0.75, 0.5, 1.0]})
    picture = MatrixPicture.from_table(table, row_title="token")
    assert picture.weights == [[0.25, 0.75], [0.5, 0.5], [None, 1.0]]
    assert (picture.rows, picture.columns, picture.row_title) == (["1", "2", "3"], ["a", "b"], "token")
    assert MatrixPicture.from_table(table, ["x", "y", "sum"]).rows == ["x", "y", "sum"]
    assert picture.text(40).splitlines() == [
        "weight: token by key",
        "     a    b",
        "1 0.25 0.75",
        "2 0.50 0.50",
        "3      1.00",
    ]


def test_a_wide_matrix_is_shaded_and_an_unknown_cell_is_empty():
    row = [0.0, None, 1.0] * 5
    lines = MatrixPicture([row], ["q"], [str(n) for n in range(15)]).text(40).splitlines()
    assert lines[1] == "q " + "··  ██" * 5


def test_bars_as_text_grow_from_zero_both_ways():
    text = BarPicture(Table({"of": ["up", "none", "down"], "y": [4.0, 0.0, -2.0]}), "of", "y").text(40)
    up, none, down = text.splitlines()[1:]
    assert up.count("█") == 2 * down.count("░") > 0
    assert set(none) <= set("none 0.")
    assert up.index("█") == down.rindex("░") + 1
