"""Numbers as people read them: durations, sizes, scores with their uncertainty."""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.metrics import Score

SIZES = ((3e6, "tiny"), (15e6, "small"), (40e6, "medium"), (100e6, "base"), (math.inf, "large"))
"""The number of parameters below which a model has this size."""


def format_bytes(size: float) -> str:
    """A size in memory."""
    return f"{size / 2**30:,.1f} GB" if size >= 2**30 else f"{size / 2**20:,.0f} MB"


def format_rounded(count: float) -> str:
    """A large number with a unit: 1.1 million, 340 thousand."""
    if count >= 1e9:
        return f"{count / 1e9:,.1f} billion"
    return f"{count / 1e6:,.1f} million" if count >= 1e6 else f"{count / 1e3:,.0f} thousand"


def format_score(score: "Score") -> str:
    """A score with its name and half the width of its interval, if it has one."""
    return f"{score.name} {score.format_margin(1)}"


def name_size(parameters: float) -> str:
    """The size of a model in a word."""
    return next(name for limit, name in SIZES if parameters < limit)


def pluralize(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
