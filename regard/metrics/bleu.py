"""BLEU as sacreBLEU computes it: on detokenised text, cased, with its own tokeniser."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

from regard.errors import DataError
from regard.metrics.score import Metric, Score, corpus_score

TOKENIZERS = ("13a", "none", "intl", "char", "zh")


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus BLEU."""
    # Forced, or it warns of text cut into words; the doctor says that in our words.
    return corpus_score("BLEU", BLEU(force=True), hypotheses, references)


def make_bleu_metric(lowercase: bool, tokenize: str) -> Metric:
    """BLEU with other habits, under a name of its own: on text without case, or already cut into words ("none")."""
    if tokenize not in TOKENIZERS:
        raise DataError(f"no tokenisation is called {tokenize!r}; there are: {', '.join(TOKENIZERS)}")
    name = f"BLEU[{'lower-cased' if lowercase else 'cased'}, tokens {tokenize}]"

    def compute(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        metric = BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
        return corpus_score(name, metric, hypotheses, references)

    return compute


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """BLEU of one sentence, for sorting and plotting; a mean of these is not BLEU."""
    return float(BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score)
