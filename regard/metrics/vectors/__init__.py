"""Cosines of vectors -> Score: correlation with the similarity that people see, and ranks of what belongs to a text."""

from regard.metrics.vectors.correlation import compare_correlations, score_correlations
from regard.metrics.vectors.ranks import Retrieved, cosines_of_rows, find_positives, reciprocal, score_ranks

__all__ = [
    "Retrieved",
    "compare_correlations",
    "cosines_of_rows",
    "find_positives",
    "reciprocal",
    "score_correlations",
    "score_ranks",
]
