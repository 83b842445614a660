"""Tables become pictures and pages.

Analyses hand over a `Table` of plain values; this room draws it (`curves`, `bars`, `histogram`, `heatmap`),
sets it into one offline HTML file (`page` and its parts) or into a terminal (`alignment`, `sparkline`). It
knows colours and HTML and nothing of models: no tensor comes in, no request goes out, and the same input
gives the same bytes.
"""

from regard.report.chart import Chart
from regard.report.charts import bars, curves, histogram
from regard.report.heatmap import heatmap
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
    "Translation",
    "Translations",
    "Value",
    "alignment",
    "bars",
    "curves",
    "heatmap",
    "histogram",
    "page",
    "sparkline",
    "write_page",
]
