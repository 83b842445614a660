"""Heads as a table for the terminal and as a heat map."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from regard.report.chart import Chart
from regard.report.charts.heatmap import heatmap_chart
from regard.report.look.data import HeadData, LookData
from regard.report.table import Table, Value
from regard.report.text import display_width as width_of

COLUMNS = {
    "head": "head",
    "role": "role",
    "lift": "lift",
    "interval": "95% CI",
    "random": "random",
    "runner-up": "runner-up",
    "entropy": "entropy",
    "importance": "importance",
    "cost": "cost",
    "keep only": "keep only",
    "AER": "AER",
}
SIGNED_COLUMNS = ("cost", "keep only")
OPTIONAL_COLUMNS = ("keep only", "AER")  # left out where no head has a number
NO_VALUE = "–"
AXIS_TITLES = {
    "encoder": ("query", "key"),
    "decoder": ("query (decoder input)", "key (decoder input)"),
    "cross": ("query (output token)", "key (source token)"),
}


def format_head_table(table: Table) -> str:
    """The table of heads as lines of text; a head without a reliable role shows the nearest one in parentheses."""
    rows = [list(COLUMNS.values())]
    for row in table.rows():
        role = row["role"] or (f"({row['best']})" if row["best"] else NO_VALUE)
        cells: dict[str, Value] = {
            **row,
            "role": role,
            "interval": f"{_format_number(row['low'])} to {_format_number(row['high'])}"
            if row["low"] is not None
            else NO_VALUE,
            "runner-up": row["runner-up"] or NO_VALUE,
        }
        rows.append([_format_number(cells[name], "+.3f" if name in SIGNED_COLUMNS else ".2f") for name in COLUMNS])
    empty = [
        i for i, name in enumerate(COLUMNS) if name in OPTIONAL_COLUMNS and all(row[i] == NO_VALUE for row in rows[1:])
    ]
    rows = [[cell for i, cell in enumerate(row) if i not in empty] for row in rows]
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell + " " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


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


def _format_number(value: Value, form: str = ".2f") -> str:
    if value is None:
        return NO_VALUE
    return f"{value:{form}}" if isinstance(value, float) else str(value)
