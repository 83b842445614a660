"""BLEU as sacreBLEU computes it: on detokenised text, cased, with its own tokeniser."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

from regard.metrics.score import Score, corpus_score


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus BLEU."""
    return corpus_score("BLEU", BLEU(), hypotheses, references)


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """BLEU of one sentence, for sorting and plotting; a mean of these is not BLEU."""
    return float(BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score)
