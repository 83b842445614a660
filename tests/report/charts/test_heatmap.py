from xml.etree import ElementTree

import pytest

from regard.errors import RegardError
from regard.report import Table, heatmap_chart

TITLES = {"title": "Where it looks", "row_title": "target", "column_title": "source"}
NASTY = ["<b>&\"'", "▁Haus", "😀", "", "a\u2028b", "שלום", "same", "same", "]]>", "\\u0041", "\U000e0041"]


def texts(svg: str) -> list[str]:
    """What can be read in the drawing: a label that gave way to a neighbor is there, but transparent."""
    elements = ElementTree.fromstring(svg).iter()
    return [element.text for element in elements if element.text and element.get("opacity") != "0"]


def test_every_weight_is_in_its_cell():
    weights = [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
    chart = heatmap_chart(weights, ["a", "b"], ["x", "y", "z"], **TITLES)
    cells = {(row["row"], row["column"]): row["weight"] for row in chart.spec["datasets"]["cells"]}
    assert cells == {(r, c): weights[r][c] for r in range(2) for c in range(3)}


def test_every_label_survives_and_equal_tokens_stay_apart():
    chart = heatmap_chart([[0.1] * len(NASTY)] * 2, ["<i>", "ü\x00"], NASTY, **TITLES)
    shown = texts(chart.to_svg())
    for name in NASTY:
        assert shown.count(name) == NASTY.count(name) or name == ""
    assert {"<i>", "ü\ufffd", "target", "source", "Where it looks"} <= set(shown)


def test_rows_run_down_and_columns_run_right():
    svg = heatmap_chart([[0.11, 0.22], [0.33, 0.44]], ["a", "b"], ["x", "y"], **TITLES).to_svg()
    positions = {}
    for element in ElementTree.fromstring(svg).iter():
        if element.text in ("0.11", "0.22", "0.33", "0.44"):
            x, y = element.attrib["transform"].removeprefix("translate(").removesuffix(")").split(",")
            positions[element.text] = (float(x), float(y))
    assert positions["0.11"][0] < positions["0.22"][0]
    assert positions["0.11"][1] == positions["0.22"][1] < positions["0.33"][1]


@pytest.mark.parametrize(
    ("rows", "columns", "written"), [(1, 1, True), (15, 13, True), (3, 16, False), (60, 59, False)]
)
def test_any_size_is_drawn_with_every_label_and_small_ones_with_weights(rows, columns, written):
    down, across = [f"r{n}" for n in range(rows)], [f"▁column{n}" for n in range(columns)]
    shown = texts(heatmap_chart([[0.37] * columns] * rows, down, across, **TITLES).to_svg())
    assert set(down) | set(across) <= set(shown)
    assert shown.count("0.37") == (rows * columns if written else 0)


@pytest.mark.parametrize("word", ["WWWW", "注意注意", "antidisestablishmentarianism"])
def test_labels_that_crowd_are_all_shown(word):
    shown = texts(heatmap_chart([[0.5] * 13], ["a"], [word] * 13, **TITLES).to_svg())
    assert shown.count(word) == 13


def test_a_weight_that_reads_zero_is_left_blank_and_a_missing_one_is_marked():
    shown = texts(heatmap_chart([[0.004, float("nan"), None, 0.996]], ["a"], list("wxyz"), **TITLES).to_svg())
    assert "0.00" not in shown
    assert shown.count("–") == 2
    assert "1.00" in shown


def test_a_table_gives_a_column_per_key():
    table = Table({"x": [0.1, 0.2], "y": [0.9, 0.8]})
    assert heatmap_chart(table, ["a", "b"], ["x", "y"], **TITLES) == heatmap_chart(
        [[0.1, 0.9], [0.2, 0.8]], ["a", "b"], ["x", "y"], **TITLES
    )


def test_the_shades_do_not_move_with_the_weights():
    def fill(weight: float) -> set[str]:
        svg = heatmap_chart([[weight, 1.0]], ["a"], ["x", "y"], **TITLES).to_svg()
        return {
            element.attrib["fill"] for element in ElementTree.fromstring(svg).iter() if "rgb" in element.get("fill", "")
        }

    assert len(fill(0.3) & fill(0.6)) >= 1
    faint = heatmap_chart([[0.01]], ["a"], ["x"], **TITLES).spec["layer"][1]["encoding"]["color"]["scale"]["domain"]
    assert faint == [0.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "rows", "columns", "message"),
    [
        ([[1.0]], ["a", "b"], ["x"], "2 row labels but 1 rows of weights"),
        ([[1.0], [1.0, 2.0]], ["a", "b"], ["x"], "row 1 of the heat map has 2 weights for 1 column labels"),
        ([], [], ["x"], "needs rows and columns; got 0 and 1"),
        ([["x"]], ["a"], ["x"], "heat map row 0, column 0: expected a number, got 'x'"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(weights, rows, columns, message):
    with pytest.raises(RegardError, match=message):
        heatmap_chart(weights, rows, columns, **TITLES)
