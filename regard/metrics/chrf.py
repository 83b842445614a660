"""chrF: the F-score of character n-grams, fairer than BLEU to languages with rich morphology."""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.chrf import CHRF

from regard.metrics.score import Score, corpus_score


class BootstrapCHRF(CHRF):
    """sacreBLEU's chrF with floats for scores of 0: its own are integers, on which its bootstrap fails."""

    def _compute_score_from_stats(self, stats: list[int]) -> Any:
        score = super()._compute_score_from_stats(stats)
        score.score = float(score.score)
        return score


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2."""
    return corpus_score("chrF2", BootstrapCHRF(), hypotheses, references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of one sentence."""
    return float(CHRF().sentence_score(hypothesis, [reference]).score)
