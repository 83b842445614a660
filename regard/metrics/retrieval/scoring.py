"""The scores of a system over all judged queries."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regard.errors import DataError
from regard.metrics.intervals import PERCENT, FloatArray, make_score, ratio_interval
from regard.metrics.retrieval.measures import RETRIEVAL_MEASURES, Judgments, RankedList, ranked_grades
from regard.metrics.score import Score


@dataclass(frozen=True)
class RankingScores:
    """How good the rankings of a system are."""

    scores: Mapping[str, Score]
    """Measure -> the mean over queries."""
    values: Mapping[str, FloatArray]
    """Measure -> the value of each judged query, from 0 to 100, in the order of `judgments`."""


def score_run(rankings: Mapping[str, RankedList], judgments: Judgments) -> RankingScores:
    """Score ranked lists by query. A judged query without one counts 0; one without judgments does not count."""
    if not judgments:
        raise DataError("nothing to score: no query is judged")
    rows = [
        (ranked_grades(rankings.get(query, {}), grades), np.array(list(grades.values()), dtype=np.int64))
        for query, grades in judgments.items()
    ]
    values = {
        name: np.array([100 * measure(ranked, judged) for ranked, judged in rows])
        for name, (_, measure) in RETRIEVAL_MEASURES.items()
    }
    return RankingScores({name: _mean_score(name, each) for name, each in values.items()}, values)


def _mean_score(name: str, values: FloatArray) -> Score:
    """The mean over queries, which are the independent unit, with its interval."""
    gain = "gain:linear|" if name.startswith("ndcg") else ""
    signature = f"unit:query|n:{len(values)}|{gain}unjudged:0|missing:0|ties:float32,id-descending"
    interval = ratio_interval(values, np.ones(len(values)), PERCENT)
    return make_score(RETRIEVAL_MEASURES[name][0], float(values.mean()), interval, signature, PERCENT)
