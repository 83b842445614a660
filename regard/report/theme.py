"""The theme of all charts: little ink, generous space, and a palette that is safe for color blindness."""

from __future__ import annotations

from typing import Any

# Liberation Sans comes with the renderer; Arial and Helvetica have the same widths, so labels fit everywhere.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"

# Okabe and Ito 2008, "Color Universal Design"; ordered so that neighbors differ in lightness, too, with a darker
# yellow for contrast with white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333", "#b8a800")

# One hue, evenly spaced in lightness: equal steps of weight look equal, also in grayscale.
SEQUENTIAL_COLORS = ("#f7f9fc", "#d3e2f0", "#a3c5e2", "#6ba3cf", "#3579b1", "#17508a", "#08295a")

TEXT_COLOR = "#1f2328"
MUTED_COLOR = "#57606a"
GRID_COLOR = "#e7eaee"
EMPTY_CELL_COLOR = "#e4e0da"  # a cell without a value: a warm gray that is not part of any scale

CELL_TEXT_COLOR = "#20242a"  # of numbers in pale cells, which stay pale on a dark page

# What each color of a chart becomes on a dark page. Cells keep theirs: their scale is read by its lightness.
DARK_COLORS = {
    TEXT_COLOR: "#e6e9ec",
    MUTED_COLOR: "#a3abb4",
    GRID_COLOR: "#31373e",
    "#aab1b9": "#5a636c",
    "#9aa3ad": "#5a636c",
    "#c3c9d0": "#565f68",
    "#0072b2": "#5cb3ec",
    "#d55e00": "#f58a42",
    "#009e73": "#33c99d",
    "#cc79a7": "#e59cc4",
    "#e69f00": "#f2b632",
    "#56b4e9": "#a5dcff",
    "#333333": "#ccd2d8",
    "#b8a800": "#d8ca3a",
}
DARK_STROKES = {
    SEQUENTIAL_COLORS[2]: "#3b5468",
    SEQUENTIAL_COLORS[3]: "#4d7797",
    SEQUENTIAL_COLORS[4]: "#6ba3cf",
    SEQUENTIAL_COLORS[5]: "#9cc8ea",
    SEQUENTIAL_COLORS[6]: "#d6ecfd",
    "white": "#1d2125",
}
"""Of lines: on a dark page, a stronger color is a lighter one."""

WIDTH = 660
HEIGHT = 320
FONT_SIZE = 12

CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    # Otherwise every mark would have a label for screen readers: thousands of points, read one by one.
    "aria": False,
    "padding": 12,
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "fontSize": 16,
        "fontWeight": 600,
        "color": TEXT_COLOR,
        "offset": 14,
        "subtitleColor": MUTED_COLOR,
        "subtitleFontSize": FONT_SIZE,
        "subtitlePadding": 5,
    },
    "axis": {
        "labelFontSize": FONT_SIZE,
        "labelColor": MUTED_COLOR,
        "labelPadding": 6,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titleColor": TEXT_COLOR,
        "titlePadding": 10,
        "gridColor": GRID_COLOR,
        "domainColor": "#aab1b9",
        "tickColor": "#aab1b9",
        "tickSize": 4,
    },
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "labelFontSize": 13,
        "labelColor": TEXT_COLOR,
        "labelLimit": 320,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": "normal",
        "titleColor": MUTED_COLOR,
        "symbolStrokeWidth": 3,
    },
}


def dark_style() -> str:
    """The rules that give charts their colors on a dark page; printed, they stay as they are."""
    rules = [f'.plot svg [fill="{light}"] {{ fill: {dark}; }}' for light, dark in DARK_COLORS.items()]
    rules += [f'.plot svg [stroke="{a}"] {{ stroke: {b}; }}' for a, b in (DARK_COLORS | DARK_STROKES).items()]
    body = "\n".join(f"  {rule}" for rule in rules)
    return f"""
@media screen and (prefers-color-scheme: dark) {{
  .plot {{ background: var(--card); }}
  .plot svg > rect:first-child {{ fill: none; }}
{body}
}}
"""
