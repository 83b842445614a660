"""chrF: the F-score of character n-grams, kinder than BLEU to rich morphology."""

from collections.abc import Sequence

from sacrebleu.metrics import CHRF

from regard.metrics.score import Score, corpus_score


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus chrF2."""
    return corpus_score("chrF2", CHRF(), hypotheses, references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of one sentence."""
    return float(CHRF().sentence_score(hypothesis, [reference]).score)
