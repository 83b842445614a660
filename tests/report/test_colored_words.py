"""Words colored on a fixed scale."""

import re

from regard.report import ColoredWords


def test_colors_follow_sign_and_size_and_text_is_escaped():
    html = ColoredWords("cost", ["<b>", "film", "dull", "x"], [2.0, 0.0, -0.5, 1.0], 2.0).html()
    colors = re.findall(r"rgba\(([^)]*), ([0-9.]+)\)", html)
    assert [opacity for _, opacity in colors] == ["1.00", "0.00", "0.25", "0.50"]
    assert colors[0][0] == colors[3][0] != colors[2][0]
    assert "&lt;b&gt;" in html and "<b>" not in html and 'title="-0.500"' in html
    assert "the deepest color is 2 or more" in html
    assert "1.00" in ColoredWords("cost", ["film"], [9.0], 2.0).html()  # the scale is fixed, and ends
