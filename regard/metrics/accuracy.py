"""Token accuracy: the share of target tokens that a model predicts correctly under teacher forcing."""

from collections.abc import Sequence

from regard.errors import DataError
from regard.metrics.intervals import ratio_score
from regard.metrics.score import Score

SIGNATURE = "unit:token|teacher-forced|pads:never"


def token_accuracy(correct: Sequence[int], tokens: Sequence[int]) -> Score:
    """Correct tokens and all tokens of each sentence -> their ratio over the corpus."""
    if len(correct) != len(tokens) or not sum(tokens):
        raise DataError(
            f"{len(correct)} counts of correct tokens for {len(tokens)} sentences; every sentence needs one"
        )
    return ratio_score("accuracy", correct, tokens, SIGNATURE)
