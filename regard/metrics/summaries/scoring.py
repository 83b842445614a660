"""ROUGE of summaries, each with one reference or several.

A summary with several references has the score of one of them; which one is a rule, and is part of the signature: on
SciTLDR it moves the scores of the same texts by nine points.
"""

from collections.abc import Callable, Mapping, Sequence

from regard.errors import DataError
from regard.metrics.intervals import ratio_score
from regard.metrics.score import Score
from regard.metrics.summaries.rouge import rouge_l, rouge_lsum, rouge_n
from regard.metrics.summaries.words import EnglishWords, WordSplitter
from regard.progress import track

NAMES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}
RougeValues = Mapping[str, float]
"""By the names of rouge-score, from 0 to 1."""
DEFAULT_WORDS = EnglishWords()


def best_f1(candidates: Sequence[RougeValues]) -> RougeValues:
    """Of each measure the best value, as rouge-score does it."""
    return {name: max(values[name] for values in candidates) for name in NAMES}


def best_rouge1(candidates: Sequence[RougeValues]) -> RougeValues:
    """All values of the reference with the best ROUGE-1, as SciTLDR's own script does it."""
    return max(candidates, key=lambda values: values["rouge1"])


REFERENCE_RULES: Mapping[str, Callable[[Sequence[RougeValues]], RougeValues]] = {
    "best-f1": best_f1,
    "best-rouge1": best_rouge1,
}
"""How a summary with several references is scored."""


def score_summaries(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    words: WordSplitter = DEFAULT_WORDS,
    rule: str = "best-f1",
) -> dict[str, Score]:
    """The means over summaries of ROUGE-1, -2, -L and -Lsum, which takes lines for sentences; F1, in percent."""
    rows = measure_summaries(predictions, references, words, rule)
    return mean_values(rows, describe_rouge(references, words, rule))


def measure_summaries(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    words: WordSplitter = DEFAULT_WORDS,
    rule: str = "best-f1",
) -> list[RougeValues]:
    """The measures of each summary."""
    if len(predictions) != len(references):
        raise DataError(f"{len(predictions):,} summaries but {len(references):,} references; every summary needs one")
    if not predictions:
        raise DataError("nothing to score: no summaries")
    if missing := [number for number, texts in enumerate(references, start=1) if not texts]:
        raise DataError(f"summary {missing[0]} has no reference; expected one or several")
    choose = REFERENCE_RULES[rule]
    return [
        choose([rouge_values(prediction, reference, words) for reference in texts])
        for prediction, texts in track(list(zip(predictions, references, strict=True)), "computing ROUGE")
    ]


def describe_rouge(references: Sequence[Sequence[str]], words: WordSplitter, rule: str) -> str:
    """The signature: words, references, and what decides where there are several."""
    most = max(map(len, references))
    return f"{words.signature}|{'refs:1' if most == 1 else f'refs:1-{most},{rule}'}|mean:texts"


def mean_values(rows: Sequence[RougeValues], signature: str) -> dict[str, Score]:
    """The means over summaries, in percent, with their intervals."""
    return {name: ratio_score(NAMES[name], [row[name] for row in rows], [1.0] * len(rows), signature) for name in NAMES}


def rouge_values(prediction: str, reference: str, words: WordSplitter) -> RougeValues:
    """All measures of one summary and one reference."""
    predicted_words, reference_words = words.split(prediction), words.split(reference)
    sentences = [[words.split(line) for line in text.split("\n") if line] for text in (prediction, reference)]
    return {
        "rouge1": rouge_n(predicted_words, reference_words, 1),
        "rouge2": rouge_n(predicted_words, reference_words, 2),
        "rougeL": rouge_l(predicted_words, reference_words),
        "rougeLsum": rouge_lsum(*sentences),
    }
