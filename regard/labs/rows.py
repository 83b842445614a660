"""Rows of the table behind a picture: a mean over seeds with its interval."""

from collections.abc import Sequence

from regard.metrics.intervals import mean_interval

NO_BOUNDS = (float("-inf"), float("inf"))
ACCURACY = (0.0, 1.0)


def mean_row(name: str, values: Sequence[float], bounds: tuple[float, float] = NO_BOUNDS) -> dict[str, float]:
    """The mean by this name, and `low` and `high`, the 95% interval within what is possible."""
    low, high = mean_interval(values)
    return {name: sum(values) / len(values), "low": max(low, bounds[0]), "high": min(high, bounds[1])}
