"""chrF: the F-score of character n-grams, fairer than BLEU to languages with rich morphology."""

from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF

from regard.metrics.corpus_sums import corpus_score
from regard.metrics.score import Score
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[str], tokenization: Tokenization = DEFAULT_TOKENIZATION
) -> Score:
    """Corpus chrF2; its characters need no tokenization."""
    return corpus_score("chrF2", CHRF(), hypotheses, references)


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """chrF2 of one sentence."""
    return float(CHRF().sentence_score(hypothesis, [reference]).score)
