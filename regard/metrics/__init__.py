"""Strings -> Score. A number never travels without its signature.

Every metric is a function `(hypotheses, references) -> Score`; accuracy takes counts instead.
"""

from regard.metrics.accuracy import accuracy
from regard.metrics.bleu import bleu, make_bleu_metric, sentence_bleu
from regard.metrics.chrf import chrf, sentence_chrf
from regard.metrics.rouge import rouge_l, sentence_rouge_l
from regard.metrics.score import Metric, Score
from regard.metrics.significance import PairedTestResult, paired_tests
from regard.metrics.ter import ter

__all__ = [
    "Metric",
    "PairedTestResult",
    "Score",
    "accuracy",
    "bleu",
    "chrf",
    "make_bleu_metric",
    "paired_tests",
    "rouge_l",
    "sentence_bleu",
    "sentence_chrf",
    "sentence_rouge_l",
    "ter",
]
