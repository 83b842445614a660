"""A head as a heat map, tables as CSV, and the terms of a score in words."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from regard.report.chart import Chart
from regard.report.charts.heatmap import heatmap_chart
from regard.report.look.data import HeadData, LookData
from regard.report.table import Table

AXIS_TITLES = {
    "encoder": ("query", "key"),
    "decoder": ("query (decoder input)", "key (decoder input)"),
    "cross": ("query (output token)", "key (source token)"),
}


def head_heatmap(data: LookData, kind: str, layer: int, row: int) -> Chart:
    """One head of one sentence as a heat map: rows are queries, columns are keys."""
    attention = data.kinds[kind]
    head = attention.heads[layer][row]
    matrix = zip(attention.weights[layer][row], attention.scores[layer][row], strict=True)
    lines = [
        [None if score != score else float(w) for w, score in zip(weights, scores, strict=True)]  # masked: NaN
        for weights, scores in matrix
    ]
    row_title, column_title = AXIS_TITLES[kind]
    return heatmap_chart(
        lines,
        data.sides[attention.rows].tokens,
        data.sides[attention.columns].tokens,
        title=f"{head.name}: {_describe_role(head)}",
        row_title=row_title,
        column_title=column_title,
    ).with_name("head")


def _describe_role(head: HeadData) -> str:
    if head.role:
        interval = "" if head.low is None else f", {head.low:.2f} to {head.high:.2f}"
        return f"{head.role} (lift {head.lift:.2f}{interval})"
    return "no reliable role" if head.best else "not measured"


def to_csv(table: Table) -> str:
    """A table as CSV; missing values stay empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows():
        writer.writerow(["" if value is None else value for value in row.values()])
    return out.getvalue()


def format_shares(names: Sequence[str], shares: Sequence[float]) -> str:
    """Shares of the terms of a score in one line, largest first; those below 0.5 % are left out."""
    order = sorted(zip(names, shares, strict=True), key=lambda pair: -abs(pair[1]))
    return ", ".join(f"{name} {share:.0%}" for name, share in order if abs(share) >= 0.005)
