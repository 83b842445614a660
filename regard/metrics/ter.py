"""TER: edits, shifts of whole phrases included, a hundred words of reference need. Lower is better."""

from collections.abc import Sequence

from sacrebleu.metrics.ter import TER

from regard.metrics.score import Score, corpus_score


def ter(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus TER, as sacreBLEU computes it."""
    return corpus_score("TER", TER(), hypotheses, references)
