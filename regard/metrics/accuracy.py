"""Token accuracy: the share of real target pieces that a model, told the right beginning, would have written next."""

from collections.abc import Sequence

from regard.errors import DataError
from regard.metrics.resample import ratio_score
from regard.metrics.score import Score

SIGNATURE = "unit:piece|teacher-forced|pads:never"


def accuracy(correct: Sequence[int], tokens: Sequence[int]) -> Score:
    """Right pieces and all pieces of each sentence -> their ratio over the corpus."""
    if len(correct) != len(tokens) or not sum(tokens):
        raise DataError(f"{len(correct)} counts of right pieces for {len(tokens)} sentences; every one needs both")
    return ratio_score("accuracy", correct, tokens, SIGNATURE)
