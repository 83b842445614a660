"""What models cost, drawn against what they are worth."""

from collections.abc import Sequence

from regard.report import Chart, Table, Value, frontier
from regard.tuning.measure import Measured

TITLES = {
    "parameters": ("Size against quality", "parameters"),
    "minutes": ("Time of training against quality", "minutes"),
    "decoding": ("Time to translate against quality", "milliseconds a sentence, greedily"),
}


def costs_of(one: Measured) -> dict[str, Value]:
    """Every cost of a run that is known."""
    decoding = None if one.decoding is None else 1000 * one.decoding
    return {"parameters": one.parameters, "minutes": one.minutes, "decoding": decoding}


def cost_charts(rows: Sequence[dict[str, Value]], score: str, y_title: str, higher: bool) -> list[Chart]:
    """A chart for every cost that is known of two rows or more; each has a name, a score and its costs."""
    charts = []
    for cost, (title, x_title) in TITLES.items():
        known = [{name: row[name] for name in ("name", score, cost)} for row in rows if row.get(cost) is not None]
        if len(known) > 1:
            chart = frontier(
                Table.of(known), cost, score, "name", title=title, x_title=x_title, y_title=y_title, higher=higher
            )
            charts.append(chart.named(f"{cost}-quality"))
    return charts
