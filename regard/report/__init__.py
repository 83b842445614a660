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
    "MatrixPanel",
    "PagePart",
    "Paragraph",
    "Section",
    "Table",
    "TableView",
    "TranslationCard",
    "TranslationCards",
    "Value",
    "bar_chart",
    "category_curves",
    "format_alignment",
    "format_head_table",
    "format_shares",
    "head_heatmap",
    "heatmap_chart",
    "histogram",
    "layer_scatter",
    "line_chart",
    "matrix_grid",
    "overlay_curves",
    "parallel_coordinates",
    "pareto_chart",
    "pareto_front",
    "render_look_page",
    "render_look_page_with_notes",
    "render_page",
    "slice_plot",
    "small_multiples",
    "sparkline",
    "stacked_histograms",
    "to_csv",
    "write_page",
]
