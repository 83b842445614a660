"""Scatter plots of the vectors of one word in all layers, colored by sense."""

from __future__ import annotations

from regard.report.chart import Chart, compose_chart, label_expression
from regard.report.table import Table, Value
from regard.report.theme import MUTED_COLOR, PALETTE

PANEL_SIZE = 170
COLUMNS = 4
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")


def layer_scatter(table: Table, *, title: str) -> Chart:
    """A scatter plot for each layer of a table with columns layer, x, y and sense; senses differ in color and shape.

    Each layer has axes of its own: clusters matter, not distances.
    """
    import altair as alt

    order = list(dict.fromkeys(str(name) for name in table["layer"]))
    senses = sorted({str(sense) for sense in table["sense"]})
    rows: list[dict[str, Value]] = [{name: row[name] for name in ("layer", "x", "y", "sense")} for row in table.rows()]
    for row in rows:
        row["category"] = order.index(str(row["layer"]))
    blank = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    show_legend = len(senses) > 1
    legend = alt.Legend(title=None, orient="top", symbolSize=90) if show_legend else None
    points = (
        alt.Chart()
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            alt.X("x:Q", axis=blank, scale=alt.Scale(zero=False, padding=14)),
            alt.Y("y:Q", axis=blank, scale=alt.Scale(zero=False, padding=14)),
            color=alt.Color(
                "sense:N", legend=legend, scale=alt.Scale(domain=senses, range=list(PALETTE[: len(senses)]))
            ),
            shape=alt.Shape(
                "sense:N", legend=legend, scale=alt.Scale(domain=senses, range=list(SHAPES[: len(senses)]))
            ),
        )
        .properties(width=PANEL_SIZE, height=PANEL_SIZE)
    )
    labels = alt.Header(labelExpr=label_expression(order), labelFontSize=13, title=None)
    chart = (
        alt.layer(points, view=alt.ViewBackground(stroke=MUTED_COLOR, strokeOpacity=0.25))
        .properties(width=PANEL_SIZE, height=PANEL_SIZE)
        .facet(facet=alt.Facet("category:O", header=labels), data=alt.NamedData("points"), columns=COLUMNS)
        .resolve_scale(x="independent", y="independent")
    )
    return compose_chart(title, chart, {"points": rows}).with_name("word")
