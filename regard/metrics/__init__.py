"""Strings -> Score. A number never travels without its signature.

Every metric is a function `(hypotheses, references) -> Score`.
"""

from regard.metrics.bleu import bleu, sentence_bleu
from regard.metrics.chrf import chrf, sentence_chrf
from regard.metrics.score import Score

__all__ = ["Score", "bleu", "chrf", "sentence_bleu", "sentence_chrf"]
