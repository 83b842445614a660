"""Summaries -> Score: ROUGE as the package rouge-score computes it, for English and for other languages."""

from regard.metrics.summaries.oracle import select_oracle
from regard.metrics.summaries.scoring import (
    NAMES,
    REFERENCE_RULES,
    RougeValues,
    describe_rouge,
    mean_values,
    measure_summaries,
    score_summaries,
)
from regard.metrics.summaries.words import EnglishWords, UnicodeWords, WordSplitter

__all__ = [
    "NAMES",
    "REFERENCE_RULES",
    "EnglishWords",
    "RougeValues",
    "UnicodeWords",
    "WordSplitter",
    "describe_rouge",
    "mean_values",
    "measure_summaries",
    "score_summaries",
    "select_oracle",
]
