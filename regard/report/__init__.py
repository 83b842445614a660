"""Tables become pictures and pages.

Analyses hand over a `Table` of plain values; this room draws it (`curves`, `bars`, `histogram`, `heatmap`; of many
runs `overlay`, `panels`, `profile`, `distributions`, `slices`, `parallel`, `frontier`),
sets it into one offline HTML file (`page` and its parts) or into a terminal (`alignment`, `sparkline`). It
knows colours and HTML and nothing of models: no tensor comes in, no request goes out, and the same input
gives the same bytes.
"""

from regard.report.chart import Chart
from regard.report.charts.curves import bar_chart, histogram, line_chart
from regard.report.charts.heads import format_head_table, format_shares, head_heatmap, to_csv
from regard.report.charts.heatmap import heatmap_chart
from regard.report.charts.matrices import MatrixPanel, matrix_grid
from regard.report.charts.run_curves import category_curves, overlay_curves, small_multiples, stacked_histograms
from regard.report.charts.senses import layer_scatter
from regard.report.charts.sweep import parallel_coordinates, pareto_chart, pareto_front, slice_plot
from regard.report.look.page import render_look_page, render_look_page_with_notes
from regard.report.page import (
    DefinitionList,
    Figure,
    PagePart,
    Paragraph,
    Section,
    TableView,
    TranslationCard,
    TranslationCards,
    render_page,
    write_page,
)
from regard.report.table import Table, Value
from regard.report.terminal import format_alignment, sparkline

__all__ = [
    "Chart",
    "DefinitionList",
    "Figure",
    "TableView",
    "Paragraph",
    "PagePart",
    "Section",
    "Table",
    "MatrixPanel",
    "TranslationCard",
    "TranslationCards",
    "Value",
    "format_alignment",
    "to_csv",
    "bar_chart",
    "line_chart",
    "stacked_histograms",
    "pareto_chart",
    "head_heatmap",
    "format_head_table",
    "heatmap_chart",
    "histogram",
    "layer_scatter",
    "render_look_page",
    "overlay_curves",
    "render_page",
    "render_look_page_with_notes",
    "small_multiples",
    "parallel_coordinates",
    "pareto_front",
    "category_curves",
    "format_shares",
    "slice_plot",
    "sparkline",
    "matrix_grid",
    "write_page",
]
