"""Heads for people: a table in the terminal, and figures for a paper."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from regard.report.chart import Chart
from regard.report.charts.heatmap import heatmap
from regard.report.table import Table, Value
from regard.report.text import cells as width_of

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
SIGNED = ("cost", "alone")
SOMETIMES = ("alone", "AER")  # columns that are left out where no head has a number
UNSURE = "–"


def head_rows(table: Table) -> str:
    """The table of heads as lines of text; a head without a sure role says what it is nearest to, in brackets."""
    rows = [list(COLUMNS.values())]
    for row in table.rows():
        role = row["role"] or (f"({row['best']})" if row["best"] else UNSURE)
        shown: dict[str, Value] = {
            **row,
            "role": role,
            "interval": f"{_number(row['low'])} to {_number(row['high'])}" if row["low"] is not None else UNSURE,
            "runner-up": row["runner-up"] or UNSURE,
        }
        rows.append([_number(shown[name], "+.3f" if name in SIGNED else ".2f") for name in COLUMNS])
    empty = [i for i, name in enumerate(COLUMNS) if name in SOMETIMES and all(row[i] == UNSURE for row in rows[1:])]
    rows = [[cell for i, cell in enumerate(row) if i not in empty] for row in rows]
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell + " " * (room - width_of(cell)) for cell, room in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def head_figure(data: Mapping[str, Any], kind: str, layer: int, row: int) -> Chart:
    """One head of one sentence as a heat map: rows are queries, columns keys."""
    own = data["kinds"][kind]
    head = own["heads"][layer][row]
    queries, keys = (data["sides"][own[side]]["pieces"] for side in ("rows", "columns"))
    weights = own["weights"][layer][row]
    seen = own["scores"][layer][row] == own["scores"][layer][row]  # what is hidden is NaN
    lines = [
        [float(w) if ok else None for w, ok in zip(*line, strict=True)] for line in zip(weights, seen, strict=True)
    ]
    titles = {"encoder": ("reads", "looks at"), "decoder": ("reads", "looks back at"), "cross": ("writes", "looks at")}
    return heatmap(
        lines,
        queries,
        keys,
        title=f"{head['name']}: {_role(head)}",
        row_title=titles[kind][0],
        column_title=titles[kind][1],
    ).named("head")


def _role(head: Mapping[str, Any]) -> str:
    if head["role"]:
        spread = "" if head["low"] is None else f", {head['low']:.2f} to {head['high']:.2f}"
        return f"{head['role']} (lift {head['lift']:.2f}{spread})"
    return "no sure role" if head["best"] else "not measured"


def as_csv(table: Table) -> str:
    """A table as other programs read it; what is missing stays empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows():
        writer.writerow(["" if value is None else value for value in row.values()])
    return out.getvalue()


def shares_lines(names: Sequence[str], shares: Sequence[float]) -> str:
    """Shares of score terms in one line, largest first; what is next to nothing is left out."""
    order = sorted(zip(names, shares, strict=True), key=lambda pair: -abs(pair[1]))
    return ", ".join(f"{name} {share:.0%}" for name, share in order if abs(share) >= 0.005)


def _number(value: Value, form: str = ".2f") -> str:
    if value is None:
        return UNSURE
    return f"{value:{form}}" if isinstance(value, float) else str(value)
