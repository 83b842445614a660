"""ROUGE-L: the longest common subsequence of words.  Lin 2004."""

import re
from collections.abc import Sequence

from regard.metrics.resample import ratio_score
from regard.metrics.score import Score, paired

WORD = re.compile(r"\w+")
SIGNATURE = "tok:words|case:lc|stem:no|mean:sentences"


def rouge_l(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """The mean over sentences of the F-score of their longest common subsequence."""
    paired(hypotheses, references)
    values = [sentence_rouge_l(h, r) / 100 for h, r in zip(hypotheses, references, strict=True)]
    return ratio_score("ROUGE-L", values, [1.0] * len(values), SIGNATURE)


def sentence_rouge_l(hypothesis: str, reference: str) -> float:
    """2 · LCS / (words of one + words of the other), from 0 to 100; two empty sentences are alike."""
    one, two = WORD.findall(hypothesis.lower()), WORD.findall(reference.lower())
    if not one and not two:
        return 100.0
    return 200 * longest_common(one, two) / (len(one) + len(two))


def longest_common(one: Sequence[str], two: Sequence[str]) -> int:
    """The length of the longest common subsequence, a row of the table at a time."""
    row = [0] * (len(two) + 1)
    for word in one:
        before = row
        row = [0]
        for j, other in enumerate(two):
            row.append(before[j] + 1 if word == other else max(row[j], before[j + 1]))
    return row[-1]
