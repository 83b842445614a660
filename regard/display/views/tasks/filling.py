"""The masks of a text, filled: a table of the candidates of each."""

from collections.abc import Sequence

from regard.display.layout import Column, format_table
from regard.tasks.masked_lm.filler import FillCandidate


def format_filling(masks: Sequence[Sequence[FillCandidate]], width: int) -> list[str]:
    """The candidates of each mask, the most probable first."""
    lines: list[str] = []
    for number, candidates in enumerate(masks, start=1):
        heading = "token" if len(masks) == 1 else f"token of mask {number}"
        columns = (Column(heading), Column("probability", right=True), Column("text", wraps=True))
        rows = [[one.text or one.token, f"{one.probability:.4f}", one.sequence] for one in candidates]
        lines += [*([""] if lines else []), *format_table(columns, rows, width)]
    return lines
