"""TER: edits, phrase shifts included, per hundred words of the reference. Lower is better."""

from collections.abc import Sequence

from regard.metrics.corpus_sums import corpus_score
from regard.metrics.score import Score
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization


def corpus_ter(
    hypotheses: Sequence[str], references: Sequence[str], tokenization: Tokenization = DEFAULT_TOKENIZATION
) -> Score:
    """Corpus TER, as sacreBLEU computes it; over the tokens of BLEU where words have no spaces between them."""
    return corpus_score("TER", tokenization.make_ter(), hypotheses, references)
