"""Strings -> Score: a value with its confidence interval and its signature.

Every metric is a function `(hypotheses, references, tokenization) -> Score`; `token_accuracy` takes counts instead.
Tests of significance are in `significance` (systems on the same sentences) and `statistical_tests` (samples of scores).
"""

from regard.metrics.accuracy import token_accuracy
from regard.metrics.bleu import corpus_bleu, make_bleu_metric, sentence_bleu
from regard.metrics.chrf import corpus_chrf, sentence_chrf
from regard.metrics.rouge import corpus_rouge_l, sentence_rouge_l
from regard.metrics.score import Metric, Score
from regard.metrics.significance import PairedTestResult, paired_tests
from regard.metrics.ter import corpus_ter
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization, choose_tokenization

__all__ = [
    "DEFAULT_TOKENIZATION",
    "Metric",
    "PairedTestResult",
    "Score",
    "Tokenization",
    "choose_tokenization",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_rouge_l",
    "corpus_ter",
    "make_bleu_metric",
    "paired_tests",
    "sentence_bleu",
    "sentence_chrf",
    "sentence_rouge_l",
    "token_accuracy",
]
