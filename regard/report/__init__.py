"""Tables become pictures and pages.

Analyses hand over a `Table` of plain values; this room draws it (`curves`, `bars`, `histogram`, `heatmap`; of many
runs `overlay`, `panels`, `profile`, `distributions`, `slices`, `parallel`, `frontier`),
sets it into one offline HTML file (`page` and its parts) or into a terminal (`alignment`, `sparkline`). It
knows colours and HTML and nothing of models: no tensor comes in, no request goes out, and the same input
gives the same bytes.
"""

from regard.report.chart import Chart
from regard.report.charts.curves import bars, curves, histogram
from regard.report.charts.heads import as_csv, head_figure, head_rows, shares_lines
from regard.report.charts.heatmap import heatmap
from regard.report.charts.matrices import Tile, tiles
from regard.report.charts.run_curves import distributions, overlay, panels, profile
from regard.report.charts.senses import layers_scatter
from regard.report.charts.sweep import frontier, parallel, pareto, slices
from regard.report.look.page import look_page, page_and_notes
from regard.report.page import (
    Facts,
    Figure,
    Grid,
    Paragraph,
    Part,
    Section,
    Translation,
    Translations,
    page,
    write_page,
)
from regard.report.table import Table, Value
from regard.report.terminal import alignment, sparkline

__all__ = [
    "Chart",
    "Facts",
    "Figure",
    "Grid",
    "Paragraph",
    "Part",
    "Section",
    "Table",
    "Tile",
    "Translation",
    "Translations",
    "Value",
    "alignment",
    "as_csv",
    "bars",
    "curves",
    "distributions",
    "frontier",
    "head_figure",
    "head_rows",
    "heatmap",
    "histogram",
    "layers_scatter",
    "look_page",
    "overlay",
    "page",
    "page_and_notes",
    "panels",
    "parallel",
    "pareto",
    "profile",
    "shares_lines",
    "slices",
    "sparkline",
    "tiles",
    "write_page",
]
