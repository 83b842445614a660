"""Rows of the table behind a picture: a mean over seeds with its interval."""

from collections.abc import Sequence

from regard.metrics.intervals import mean_interval


def mean_row(name: str, values: Sequence[float]) -> dict[str, float]:
    """The mean by this name, and `low` and `high`, its 95% interval."""
    low, high = mean_interval(values)
    return {name: sum(values) / len(values), "low": low, "high": high}


def accuracy_row(values: Sequence[float]) -> dict[str, float]:
    """The same of shares, whose interval ends at 0 and at 1."""
    row = mean_row("accuracy", values)
    return {"accuracy": row["accuracy"], "low": max(0.0, row["low"]), "high": min(1.0, row["high"])}
