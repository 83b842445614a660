"""ROUGE-L: the longest common subsequence of words.  Lin 2004."""

import re
from collections.abc import Sequence

from regard.languages.words import MARKS
from regard.metrics.intervals import ratio_score
from regard.metrics.score import Score, require_aligned
from regard.metrics.tokenization import DEFAULT_TOKENIZATION, Tokenization

WORD = re.compile(rf"\w[\w{MARKS}]*")  # the vowels of Hindi are marks, which \w does not include


def corpus_rouge_l(
    hypotheses: Sequence[str], references: Sequence[str], tokenization: Tokenization = DEFAULT_TOKENIZATION
) -> Score:
    """The mean over sentences of the F-score of their longest common subsequence."""
    require_aligned(hypotheses, references)
    values = [sentence_rouge_l(h, r, tokenization) / 100 for h, r in zip(hypotheses, references, strict=True)]
    words = tokenization.signature if tokenization.is_unspaced else "words"
    return ratio_score("ROUGE-L", values, [1.0] * len(values), f"tok:{words}|case:lc|stem:no|mean:sentences")


def sentence_rouge_l(hypothesis: str, reference: str, tokenization: Tokenization = DEFAULT_TOKENIZATION) -> float:
    """2 · LCS / (words of one + words of the other), from 0 to 100; 100 for two empty sentences."""
    hypothesis_words, reference_words = (_split_words(text, tokenization) for text in (hypothesis, reference))
    if not hypothesis_words and not reference_words:
        return 100.0
    return 200 * lcs_length(hypothesis_words, reference_words) / (len(hypothesis_words) + len(reference_words))


def _split_words(text: str, tokenization: Tokenization) -> list[str]:
    """The words without punctuation: between blanks, or the tokens of a language that has no blanks."""
    if not tokenization.is_unspaced:
        return WORD.findall(text.lower())
    return [token for token in tokenization.split(text.lower()) if any(map(str.isalnum, token))]


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence, by dynamic programming over rows."""
    row = [0] * (len(second) + 1)
    for word in first:
        previous = row
        row = [0]
        for j, other in enumerate(second):
            row.append(previous[j] + 1 if word == other else max(row[j], previous[j + 1]))
    return row[-1]
