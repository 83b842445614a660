"""Whether the measures of words agree: rank correlations in one text, and their means over many."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from regard.inspection.decisions.attribution import Decision, WordMeasure
from regard.inspection.heads.statistics import spearman
from regard.metrics import Score
from regard.metrics.intervals import UNBOUNDED, make_score, ratio_interval

MIN_WORDS = 5
"""Words of a text below which ranks say nothing: of two words, any two measures agree or disagree perfectly."""
MeasurePair = tuple[WordMeasure, WordMeasure]


def rank_agreement(decision: Decision, pair: MeasurePair) -> float:
    """Spearman's rank correlation of two measures over the words of a text; NaN for too few words, or equal ones.

    Two signed measures are compared as they are. Attention has no sign, so it is compared with the absolute value of
    the other (Jain and Wallace 2019 compare it with gradients and with leave-one-out in the same way). Chance level: 0.
    """
    if len(decision.text.words) < MIN_WORDS:
        return math.nan
    first, second = (decision.measures[measure] for measure in pair)
    if all(measure.signed for measure in pair):
        return spearman(first, second)
    return spearman(np.abs(first), np.abs(second))


def measure_pairs(decisions: Sequence[Decision]) -> Iterator[MeasurePair]:
    """Every two measures that the decisions have."""
    return combinations(decisions[0].measures, 2) if decisions else iter(())


def mean_agreements(decisions: Sequence[Decision]) -> dict[MeasurePair, Score]:
    """The mean rank correlation of every two measures over texts, each text counting once, with its interval.

    Texts of fewer than MIN_WORDS words are left out, and those in which all words are equal by one of the measures.
    """
    agreements: dict[MeasurePair, Score] = {}
    for pair in measure_pairs(decisions):
        values = np.array([rank_agreement(decision, pair) for decision in decisions])
        known = values[~np.isnan(values)]
        if len(known):
            interval = ratio_interval(known, np.ones(len(known)), UNBOUNDED)
            name = f"{pair[0].name} and {pair[1].name}"
            agreements[pair] = make_score(
                name, float(known.mean()), interval, f"spearman|mean:texts|n:{len(known)}", UNBOUNDED
            )
    return agreements
