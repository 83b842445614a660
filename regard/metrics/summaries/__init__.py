"""Summaries -> Score: ROUGE as the package rouge-score computes it, for English and for other languages."""

from regard.metrics.summaries.scoring import REFERENCE_RULES, score_summaries
from regard.metrics.summaries.words import EnglishWords, UnicodeWords, WordSplitter

__all__ = ["REFERENCE_RULES", "EnglishWords", "UnicodeWords", "WordSplitter", "score_summaries"]
