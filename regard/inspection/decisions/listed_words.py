"""Whether measures point at the words of a list, such as sentiment words, more than at words of the same frequency."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from regard.inspection.decisions.attribution import ERASURE, Decision, WordMeasure
from regard.inspection.decisions.frequency import count_texts, draw_equally_frequent, is_lexical, normalize
from regard.inspection.heads.statistics import FloatArray
from regard.metrics import Score
from regard.metrics.intervals import ERROR_SHARE, UNBOUNDED, make_score, ratio_interval

NUM_LISTS = 1000
"""Random lists of words of the same frequency."""
SEED = 7


@dataclass(frozen=True)
class ListedShare:
    """How much of a measure listed words have, in the texts that contain any."""

    measure: WordMeasure
    share: float
    """Mean over these texts: the share of the listed words in the sum of absolute values over all words."""
    uniform_share: float
    """What they would have if all words of a text had the same."""
    lift: Score
    """share / uniform_share: 1 is what a word has on average."""
    random_lift: float
    """The mean lift of random lists of words of the same frequency: the chance level."""
    random_interval: tuple[float, float]
    """Of 95% of the random lists."""
    p_value: float
    """The share of random lists that have at least this lift, one-sided; the list itself counts as one."""


@dataclass(frozen=True)
class ListedWords:
    """What listed words have, and what erasing them costs."""

    num_texts: int
    """Texts with a listed word."""
    num_occurrences: int
    words: tuple[str, ...]
    """The words of the list that occur."""
    shares: tuple[ListedShare, ...]
    cost: Score | None
    """What erasing a listed word costs, mean over texts: the drop of the label's log-probability, in nats."""
    cost_difference: Score | None
    """The same minus the cost of another word of the same text: paired, on the texts that have both."""


def measure_listed_words(decisions: Sequence[Decision], listed: Collection[str]) -> ListedWords | None:
    """The shares of listed words, and their costs; None if none of them occurs beside other words."""
    list_words = {normalize(word) for word in listed}
    texts = [[normalize(word) for word in decision.text.words] for decision in decisions]
    frequencies = count_texts(texts)
    occurring = frozenset(list_words & frequencies.keys())
    if not occurring or len(occurring) == len(frequencies):
        return None
    random_lists = draw_equally_frequent(frequencies, occurring, NUM_LISTS, SEED)
    matches = [np.array([word in list_words for word in words]) for words in texts]
    num_texts = sum(bool(row.any()) for row in matches)
    return ListedWords(
        num_texts,
        sum(int(row.sum()) for row in matches),
        tuple(sorted(occurring)),
        tuple(
            _measure_share(
                measure, [decision.measures[measure] for decision in decisions], texts, occurring, random_lists
            )
            for measure in decisions[0].measures
        ),
        *_measure_costs(decisions, matches),
    )


def _measure_share(
    measure: WordMeasure,
    values: Sequence[FloatArray],
    texts: Sequence[Sequence[str]],
    occurring: frozenset[str],
    random_lists: Sequence[frozenset[str]],
) -> ListedShare:
    shares = [
        np.abs(row) / total if (total := np.abs(row).sum()) > 0 else np.full(len(row), 1 / len(row)) for row in values
    ]
    totals, counts = _sum_by_word(shares, texts)
    random_lifts = np.array([_lift(totals, counts, words) for words in random_lists])
    lift = _lift(totals, counts, occurring)
    by_text = np.array(
        [
            (sum(row[i] for i in positions), len(positions) / len(row))
            for row, words in zip(shares, texts, strict=True)
            if (positions := [i for i, word in enumerate(words) if word in occurring])
        ]
    )
    share, uniform_share = by_text.mean(axis=0)
    interval = ratio_interval(by_text[:, 0], by_text[:, 1], ERROR_SHARE)
    low, high = np.quantile(random_lifts, [0.025, 0.975])
    return ListedShare(
        measure,
        float(share),
        float(uniform_share),
        make_score(f"{measure.name} lift", lift, interval, f"texts:{len(by_text)}", ERROR_SHARE),
        float(random_lifts.mean()),
        (float(low), float(high)),
        float((np.count_nonzero(random_lifts >= lift - 1e-12) + 1) / (len(random_lifts) + 1)),
    )


def _sum_by_word(
    shares: Sequence[FloatArray], texts: Sequence[Sequence[str]]
) -> tuple[dict[str, float], dict[str, float]]:
    """For each word, its shares and the uniform ones, summed over its occurrences."""
    totals: dict[str, float] = {}
    uniform: dict[str, float] = {}
    for row, words in zip(shares, texts, strict=True):
        for share, word in zip(row.tolist(), words, strict=True):
            totals[word] = totals.get(word, 0.0) + share
            uniform[word] = uniform.get(word, 0.0) + 1 / len(row)
    return totals, uniform


def _lift(totals: dict[str, float], uniform: dict[str, float], words: Collection[str]) -> float:
    return sum(totals[word] for word in words) / sum(uniform[word] for word in words)


def _measure_costs(decisions: Sequence[Decision], matches: Sequence[np.ndarray]) -> tuple[Score | None, Score | None]:
    costs, differences = [], []
    for decision, is_listed in zip(decisions, matches, strict=True):
        erasure = decision.measures[ERASURE]
        is_other = ~is_listed & np.array([is_lexical(word) for word in decision.text.words])
        if is_listed.any():
            costs.append(float(erasure[is_listed].mean()))
        if is_listed.any() and is_other.any():
            # The mean over the others is what a random one of them costs on average, without drawing it.
            differences.append(float(erasure[is_listed].mean() - erasure[is_other].mean()))
    return _mean_score("cost of a listed word", costs), _mean_score("minus that of another word", differences)


def _mean_score(name: str, values: Sequence[float]) -> Score | None:
    if not values:
        return None
    array = np.array(values)
    interval = ratio_interval(array, np.ones(len(array)), UNBOUNDED)
    return make_score(name, float(array.mean()), interval, f"unit:nats|texts:{len(array)}", UNBOUNDED)
