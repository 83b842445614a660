"""ROUGE-L: the longest common subsequence of words.  Lin 2004."""

import re
from collections.abc import Sequence

from regard.metrics.resample import ratio_score
from regard.metrics.score import Score, require_aligned

WORD = re.compile(r"\w+")
SIGNATURE = "tok:words|case:lc|stem:no|mean:sentences"


def corpus_rouge_l(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """The mean over sentences of the F-score of their longest common subsequence."""
    require_aligned(hypotheses, references)
    values = [sentence_rouge_l(h, r) / 100 for h, r in zip(hypotheses, references, strict=True)]
    return ratio_score("ROUGE-L", values, [1.0] * len(values), SIGNATURE)


def sentence_rouge_l(hypothesis: str, reference: str) -> float:
    """2 · LCS / (words of one + words of the other), from 0 to 100; 100 for two empty sentences."""
    hypothesis_words, reference_words = WORD.findall(hypothesis.lower()), WORD.findall(reference.lower())
    if not hypothesis_words and not reference_words:
        return 100.0
    return 200 * lcs_length(hypothesis_words, reference_words) / (len(hypothesis_words) + len(reference_words))


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by dynamic programming over rows."""
    row = [0] * (len(second) + 1)
    for word in first:
        previous = row
        row = [0]
        for j, other in enumerate(second):
            row.append(previous[j] + 1 if word == other else max(row[j], previous[j + 1]))
    return row[-1]
