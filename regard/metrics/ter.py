"""TER: edits, phrase shifts included, per hundred words of the reference. Lower is better."""

from collections.abc import Sequence

from sacrebleu.metrics.ter import TER

from regard.metrics.score import Score, corpus_score


def corpus_ter(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus TER, as sacreBLEU computes it."""
    return corpus_score("TER", TER(), hypotheses, references)
