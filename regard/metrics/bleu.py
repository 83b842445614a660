"""BLEU as sacreBLEU computes it: on detokenized text, cased, with its own tokenizer."""

from collections.abc import Sequence

from regard.metrics.corpus_sums import corpus_score
from regard.metrics.score import Metric, Score
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization, parse_tokenization


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], tokenization: Tokenization = DEFAULT_TOKENIZATION
) -> Score:
    """Corpus BLEU."""
    return corpus_score("BLEU", tokenization.make_bleu(), hypotheses, references)


def make_bleu_metric(lowercase: bool, tokenize: str | None = None) -> Metric:
    """BLEU with other settings, under a name of its own: lowercased, or on tokenized text (`tokenize="none"`)."""
    named_tokenization = parse_tokenization(tokenize) if tokenize else None

    def compute(
        hypotheses: Sequence[str], references: Sequence[str], tokenization: Tokenization = DEFAULT_TOKENIZATION
    ) -> Score:
        used = named_tokenization or tokenization
        name = f"BLEU[{'lowercased' if lowercase else 'cased'}, tokens {used.name}]"
        return corpus_score(name, used.make_bleu(lowercase), hypotheses, references)

    return compute


def sentence_bleu(hypothesis: str, reference: str, tokenization: Tokenization = DEFAULT_TOKENIZATION) -> float:
    """BLEU of one sentence, for sorting and plotting; their mean is not corpus BLEU."""
    return float(tokenization.make_bleu(effective_order=True).sentence_score(hypothesis, [reference]).score)
