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
