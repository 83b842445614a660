"""Heads for people: a table in the terminal, and figures for a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from regard.report.chart import Chart
from regard.report.charts.heatmap import heatmap_chart
from regard.report.table import Table, Value
from regard.report.text import display_width as width_of

COLUMNS = {
    "head": "head",
    "role": "role",
    "lift": "lift",
    "interval": "95 %",
    "random": "random",
    "runner-up": "runner-up",
    "entropy": "entropy",
    "importance": "worth",
    "cost": "cost",
    "alone": "alone",
    "AER": "AER",
}
SIGNED_COLUMNS = ("cost", "alone")
OPTIONAL_COLUMNS = ("alone", "AER")  # columns that are left out where no head has a number
NO_VALUE = "–"


def format_head_table(table: Table) -> str:
    """The table of heads as lines of text; a head without a sure role says what it is nearest to, in brackets."""
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


def head_heatmap(data: Mapping[str, Any], kind: str, layer: int, row: int) -> Chart:
    """One head of one sentence as a heat map: rows are queries, columns keys."""
    attention = data["kinds"][kind]
    head = attention["heads"][layer][row]
    queries, keys = (data["sides"][attention[side]]["pieces"] for side in ("rows", "columns"))
    weights = attention["weights"][layer][row]
    visible = attention["scores"][layer][row] == attention["scores"][layer][row]  # what is hidden is NaN
    lines = [
        [float(w) if is_visible else None for w, is_visible in zip(*line, strict=True)]
        for line in zip(weights, visible, strict=True)
    ]
    titles = {"encoder": ("reads", "looks at"), "decoder": ("reads", "looks back at"), "cross": ("writes", "looks at")}
    return heatmap_chart(
        lines,
        queries,
        keys,
        title=f"{head['name']}: {_role_text(head)}",
        row_title=titles[kind][0],
        column_title=titles[kind][1],
    ).with_name("head")


def _role_text(head: Mapping[str, Any]) -> str:
    if head["role"]:
        interval = "" if head["low"] is None else f", {head['low']:.2f} to {head['high']:.2f}"
        return f"{head['role']} (lift {head['lift']:.2f}{interval})"
    return "no sure role" if head["best"] else "not measured"


def to_csv(table: Table) -> str:
    """A table as other programs read it; what is missing stays empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows():
        writer.writerow(["" if value is None else value for value in row.values()])
    return out.getvalue()


def format_shares(names: Sequence[str], shares: Sequence[float]) -> str:
    """Shares of score terms in one line, largest first; what is next to nothing is left out."""
    order = sorted(zip(names, shares, strict=True), key=lambda pair: -abs(pair[1]))
    return ", ".join(f"{name} {share:.0%}" for name, share in order if abs(share) >= 0.005)


def _format_number(value: Value, form: str = ".2f") -> str:
    if value is None:
        return NO_VALUE
    return f"{value:{form}}" if isinstance(value, float) else str(value)
