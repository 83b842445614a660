"""Tiles: signed matrices side by side, nought in the middle of every scale."""

import math
from xml.etree import ElementTree

import pytest

from regard.errors import RegardError
from regard.report import MatrixPanel, matrix_grid
from regard.report.charts.matrices import DIVERGING_COLORS
from regard.report.theme import EMPTY_CELL_COLOR


def tile(title="one", top=None, values=((1.0, -3.0, 0.5), (0.0, 2.0, math.nan))):
    return MatrixPanel(title, values, range(len(values)), range(3), "query", "key", top)


def scales(spec) -> list[list[float]]:
    """The color domains of all legends."""
    if isinstance(spec, dict):
        own = [spec["scale"]["domain"]] if "legend" in spec and spec["legend"] and "scale" in spec else []
        return own + [found for value in spec.values() for found in scales(value)]
    return [found for value in spec for found in scales(value)] if isinstance(spec, list) else []


def test_nought_is_in_the_middle_and_the_largest_of_both_signs_at_the_end():
    (domain,) = scales(matrix_grid("t", [[tile()]]).spec)
    assert domain == [-3, -1.5, 0, 1.5, 3] and len(domain) == len(DIVERGING_COLORS)
    flat = matrix_grid("t", [[tile(values=((0.0, 0.0, 0.0),))]])
    assert scales(flat.spec)[0][-1] == 1  # nothing to tell apart is no division by nought


def test_tiles_with_one_top_have_one_legend_and_others_their_own():
    assert len(scales(matrix_grid("t", [[tile("a"), tile("b")]]).spec)) == 2
    assert scales(matrix_grid("t", [[tile("a", 5.0), tile("b", 5.0)]]).spec) == [[-5, -2.5, 0, 2.5, 5]]


def test_a_cell_without_a_value_is_grey_and_every_title_is_there():
    drawn = matrix_grid("Positions", [[tile("first")], [tile("second")]], "a note").to_svg()
    ElementTree.fromstring(drawn)
    assert EMPTY_CELL_COLOR in drawn and all(
        word in drawn for word in ("Positions", "first", "second", "a note", "query", "key")
    )


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        ([], "at least one panel in every row"),
        ([[tile()], []], "at least one panel in every row"),
        (
            [[MatrixPanel("odd", [[1.0, 2.0]], [0], [0, 1, 2], "a", "b")]],
            "panel 'odd': expected 1 rows of 3 values each",
        ),
    ],
)
def test_tiles_that_do_not_fit_are_told(lines, match):
    with pytest.raises(RegardError, match=match):
        matrix_grid("t", lines)


def test_weights_have_a_scale_from_nought_that_says_what_they_are():
    weights = MatrixPanel("head", ((0.25, 0.75),), range(1), range(2), "query", "key", 1.0, "weight", signed=False)
    chart = matrix_grid("t", [[weights]])
    assert scales(chart.spec) == [[0, 1.0]] and ">weight<" in chart.to_svg() and ">-1<" not in chart.to_svg()
