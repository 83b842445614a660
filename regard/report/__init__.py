"""Charts, HTML pages and terminal views of tables.

The input is a `Table` of plain values. It is drawn as a chart (`line_chart`, `bar_chart`, `histogram`, `heatmap_chart`;
for several runs `overlay_curves`, `small_multiples`, `category_curves`, `stacked_histograms`, `slice_plot`,
`parallel_coordinates`, `pareto_chart`), placed into one offline HTML file (`render_page` and its parts), or printed in
a terminal (`format_alignment`). This package knows colors and HTML but no models: it takes no tensors and
makes no network requests, and the same input gives the same bytes.
"""

from regard.report.cards import TranslationCard, TranslationCards
from regard.report.chart import Chart
from regard.report.charts.curves import ValueAxis, bar_chart, histogram, line_chart
from regard.report.charts.heads import format_shares, head_heatmap, to_csv
from regard.report.charts.heatmap import heatmap_chart
from regard.report.charts.matrices import MatrixPanel, matrix_grid
from regard.report.charts.run_curves import category_curves, overlay_curves, small_multiples, stacked_histograms
from regard.report.charts.senses import layer_scatter
from regard.report.charts.sweep import Sweep, parallel_coordinates, pareto_chart, pareto_front, slice_plot
from regard.report.colored_words import ColoredWords
from regard.report.look.page import LookPage, render_look_page
from regard.report.page import (
    DefinitionList,
    Figure,
    Folded,
    Headline,
    ItemList,
    PagePart,
    Paragraph,
    Section,
    Switch,
    render_fragment,
    render_page,
    write_page,
)
from regard.report.table import Table, Value
from regard.report.table_view import TableView
from regard.report.terminal import format_alignment

__all__ = [
    "Chart",
    "ColoredWords",
    "DefinitionList",
    "Figure",
    "Folded",
    "Headline",
    "ItemList",
    "LookPage",
    "MatrixPanel",
    "PagePart",
    "Paragraph",
    "Section",
    "Sweep",
    "Switch",
    "Table",
    "TableView",
    "TranslationCard",
    "TranslationCards",
    "Value",
    "ValueAxis",
    "bar_chart",
    "category_curves",
    "format_alignment",
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
    "render_fragment",
    "render_look_page",
    "render_page",
    "slice_plot",
    "small_multiples",
    "stacked_histograms",
    "to_csv",
    "write_page",
]
