"""Architectures side by side in the terminal: the verdict, then a table."""

from regard.display.layout import Column, bind, format_table, wrap, wrap_all
from regard.tuning.architectures.comparison import ArchitectureComparison
from regard.tuning.architectures.verdict import describe_method

LEFT = ("architecture", "layers")
"""Columns of text."""


def format_architectures(comparison: ArchitectureComparison, width: int) -> list[str]:
    """The verdict, a row for each architecture, what else was found, and how differences are tested."""
    answer, *notes = (text.replace("p = ", bind("p = ")) for text in comparison.findings)
    table = comparison.as_table()
    columns = [Column(name, right=name not in LEFT, wraps=name == "architecture") for name in table.columns]
    rows = [[_format(value) for value in row.values()] for row in table.rows()]
    lines = [*wrap(answer, width), "", *format_table(columns, rows, width), ""]
    return [*lines, *wrap_all([*notes, describe_method(comparison)], width, "", "  ")]


def _format(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
