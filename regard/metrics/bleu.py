"""BLEU as sacreBLEU computes it: on detokenized text, cased, with its own tokenizer."""

from collections.abc import Sequence

from sacrebleu.metrics.bleu import BLEU

from regard.errors import DataError
from regard.metrics.score import Metric, Score, corpus_score

TOKENIZERS = ("13a", "none", "intl", "char", "zh")


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Corpus BLEU."""
    # force: no warning about tokenized text, which `regard doctor` reports.
    return corpus_score("BLEU", BLEU(force=True), hypotheses, references)


def make_bleu_metric(lowercase: bool, tokenize: str) -> Metric:
    """BLEU with other settings, under a name of its own: lowercased, or on tokenized text (`tokenize="none"`)."""
    if tokenize not in TOKENIZERS:
        raise DataError(f"unknown tokenization {tokenize!r}; expected one of {', '.join(TOKENIZERS)}")
    name = f"BLEU[{'lowercased' if lowercase else 'cased'}, tokens {tokenize}]"

    def compute(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        metric = BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
        return corpus_score(name, metric, hypotheses, references)

    return compute


def sentence_bleu(hypothesis: str, reference: str) -> float:
    """BLEU of one sentence, for sorting and plotting; their mean is not corpus BLEU."""
    return float(BLEU(effective_order=True).sentence_score(hypothesis, [reference]).score)
