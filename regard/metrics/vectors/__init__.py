"""Cosines of vectors -> Score: correlation with the similarity that people see, and ranks of what belongs to a text."""

from regard.metrics.vectors.correlation import (
    compare_correlations,
    correlate_sums,
    correlation_sums,
    rank,
    score_correlations,
)
from regard.metrics.vectors.ranks import (
    Retrieved,
    cosines_of_rows,
    find_positives,
    mean_of_sums,
    reciprocal,
    score_ranks,
)

__all__ = [
    "Retrieved",
    "compare_correlations",
    "correlate_sums",
    "correlation_sums",
    "cosines_of_rows",
    "find_positives",
    "mean_of_sums",
    "rank",
    "reciprocal",
    "score_correlations",
    "score_ranks",
]
