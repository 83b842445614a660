"""Over-reliance on keywords: how many decisions for a class change without a few words.

Words are selected on one half of the texts of a class, and their effect is measured on the other half: on the same
texts they would be the best of thousands of candidates by luck, too.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from regard.inspection.decisions.erasure import erase_words
from regard.inspection.decisions.frequency import count_texts, draw_equally_frequent, is_lexical, normalize
from regard.inspection.heads.statistics import FloatArray
from regard.languages import split_words
from regard.metrics import Score
from regard.metrics.intervals import ratio_score
from regard.progress import track
from regard.tasks.classify.classifier import Classifier

NUM_KEYWORDS = 5
NUM_RANDOM_SETS = 20
"""Random sets of words of the same frequency, which the keywords are compared with."""
MIN_TEXTS = 4
"""Texts of a class below which nothing is selected."""
MIN_CANDIDATE_TEXTS = 2
"""Texts of the selecting half that a keyword occurs in at least: one text has no general keywords."""
SEED = 11


@dataclass(frozen=True)
class ClassKeywords:
    """The words that the decisions for one class rest on most."""

    label: str
    keywords: tuple[str, ...]
    """In the order of selection."""
    flipped: Score
    """The percentage of decisions of the other half that change without the keywords."""
    containing: float
    """The percentage of these texts that contain a keyword: no other decision can change."""
    random_flipped: float
    """The same with random words of the same frequency, mean over random sets."""
    random_interval: tuple[float, float]
    """Of 95% of the random sets."""
    num_texts: int
    """The decisions of the other half, which the percentages are of."""

    @property
    def exceeds_chance(self) -> bool:
        """Whether more decisions change than without 95% of the random sets."""
        return self.flipped.value > self.random_interval[1]


def measure_keywords(classifier: Classifier, texts: Sequence[str], count: int = NUM_KEYWORDS) -> list[ClassKeywords]:
    """The keywords of every class that is predicted often enough, in the order of labels."""
    predictions = classifier.classify(texts)
    keywords = []
    for label in track(classifier.labels.labels, "selecting keywords"):
        own = [text for text, predicted in zip(texts, predictions, strict=True) if label in predicted.labels]
        if len(own) >= MIN_TEXTS and (entry := _measure_class(classifier, label, own, count)):
            keywords.append(entry)
    return keywords


def _measure_class(classifier: Classifier, label: str, texts: Sequence[str], count: int) -> ClassKeywords | None:
    selecting, measured = texts[::2], texts[1::2]
    keywords = select_keywords(classifier, label, selecting, count)
    if not keywords:
        return None
    flips = _find_flips(classifier, label, measured, set(keywords))
    frequencies = count_texts(map(split_words, texts))
    random_sets = draw_equally_frequent(frequencies, keywords, NUM_RANDOM_SETS, SEED)
    random_shares = [100 * float(_find_flips(classifier, label, measured, words).mean()) for words in random_sets] or [
        0.0
    ]
    low, high = np.quantile(random_shares, [0.025, 0.975])
    containing = [any(normalize(word) in keywords for word in split_words(text)) for text in measured]
    return ClassKeywords(
        label,
        tuple(keywords),
        ratio_score("flipped", flips.tolist(), [1.0] * len(flips), f"k:{len(keywords)}|n:{len(flips)}"),
        100 * sum(containing) / len(containing),
        float(np.mean(random_shares)),
        (float(low), float(high)),
        len(measured),
    )


def select_keywords(classifier: Classifier, label: str, texts: Sequence[str], count: int) -> list[str]:
    """The words whose joint erasure lowers the label's log-probability most, summed over texts; greedily, one by one.

    Words that lower it in no sum are not selected, so there may be fewer.
    """
    column = classifier.labels.labels.index(label)
    remaining = list(texts)
    totals = _candidate_costs(classifier, column, remaining)
    keywords: list[str] = []
    while len(keywords) < count:
        frequencies = count_texts(map(split_words, remaining))
        sums = {word: sum(costs.values()) for word, costs in totals.items() if frequencies[word] >= MIN_CANDIDATE_TEXTS}
        best = max(sorted(sums), key=lambda word: sums[word], default=None)
        if best is None or sums[best] <= 0:
            break
        keywords.append(best)
        changed = sorted(totals.pop(best))
        for number in changed:
            remaining[number] = _erase_types(remaining[number], {best})
        # Only the texts that contained the word have other costs now.
        updates = _candidate_costs(classifier, column, [remaining[number] for number in changed])
        for word, costs in totals.items():
            fresh = updates.get(word, {})
            for index, number in enumerate(changed):
                if index in fresh:
                    costs[number] = fresh[index]
    return keywords


def _candidate_costs(classifier: Classifier, column: int, texts: Sequence[str]) -> dict[str, dict[int, float]]:
    """For each word, by the number of each text that has it: the drop of the log-probability without the word."""
    entries = [
        (word, number)
        for number, text in enumerate(texts)
        for word in sorted({normalize(word) for word in split_words(text) if is_lexical(word)})
    ]
    whole = classifier.log_probs(texts)[:, column].tolist()
    erased = classifier.log_probs([_erase_types(texts[number], {word}) for word, number in entries])[:, column].tolist()
    costs: dict[str, dict[int, float]] = {}
    for (word, number), log_prob in zip(entries, erased, strict=True):
        costs.setdefault(word, {})[number] = whole[number] - log_prob
    return costs


def _erase_types(text: str, words: Collection[str]) -> str:
    """The text without any occurrence of these words."""
    return erase_words(text, [n for n, word in enumerate(split_words(text)) if normalize(word) in words])


def _find_flips(classifier: Classifier, label: str, texts: Sequence[str], words: Collection[str]) -> FloatArray:
    """1 for each text whose decision for the label changes without these words, else 0."""
    affected = [n for n, text in enumerate(texts) if any(normalize(word) in words for word in split_words(text))]
    flips = np.zeros(len(texts))
    for number, result in zip(
        affected, classifier.classify([_erase_types(texts[n], words) for n in affected]), strict=True
    ):
        flips[number] = label not in result.labels
    return flips
