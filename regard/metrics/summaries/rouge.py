"""ROUGE-N, ROUGE-L and ROUGE-Lsum of words: F1 from 0 to 1, 0 where one side has none.  Lin 2004."""

from collections import Counter
from collections.abc import Sequence

from regard.metrics.rouge import lcs_length

Words = Sequence[str]


def rouge_n(prediction: Words, reference: Words, n: int) -> float:
    """F1 of the n-grams that the two have in common; each counts as often as both have it."""
    predicted, expected = (
        Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (prediction, reference)
    )
    return f1((predicted & expected).total(), predicted.total(), expected.total())


def rouge_l(prediction: Words, reference: Words) -> float:
    """F1 of the longest common subsequence of two texts."""
    return f1(lcs_length(prediction, reference), len(prediction), len(reference))


def rouge_lsum(prediction: Sequence[Words], reference: Sequence[Words]) -> float:
    """F1 of the words of each reference sentence that are in its longest common subsequence with any sentence.

    No word counts more often than either text has it, as in ROUGE 1.5.5.
    """
    predicted, expected = (Counter(word for sentence in text for word in sentence) for text in (prediction, reference))
    hits: Counter[str] = Counter()
    for sentence in reference:
        union = {position for other in prediction for position in lcs_positions(sentence, other)}
        hits.update(sentence[position] for position in union)
    return f1((hits & predicted & expected).total(), predicted.total(), expected.total())


def f1(common: int, num_predicted: int, num_reference: int) -> float:
    """2 · common / (predicted + reference), the harmonic mean of precision and recall; 0 where there is nothing."""
    return 2 * common / (num_predicted + num_reference) if common else 0.0


def lcs_positions(reference: Words, prediction: Words) -> list[int]:
    """The positions in the reference of a longest common subsequence: of several, the one that rouge-score takes."""
    table = [[0] * (len(prediction) + 1)]
    for word in reference:
        row, above = [0], table[-1]
        for j, other in enumerate(prediction):
            row.append(above[j] + 1 if word == other else max(row[j], above[j + 1]))
        table.append(row)
    positions = []
    i, j = len(reference), len(prediction)
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            positions.append(i - 1)
            i, j = i - 1, j - 1
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return positions
