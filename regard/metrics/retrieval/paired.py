"""Paired tests of two systems on the same queries, by the mean of a measure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from regard.metrics.intervals import UNBOUNDED, FloatArray, make_score, ratio_interval
from regard.metrics.score import Score
from regard.metrics.significance import (
    MIN_DIFFERING,
    PAIRED_TESTS,
    bootstrap_p_value,
    describe_agreement,
    randomization_p_value,
    sum_draws,
)
from regard.metrics.statistical_tests import holm_correction

SEED = 12345


@dataclass(frozen=True)
class RankingTest:
    """The difference of two systems by one measure, and how often chance alone makes one as large."""

    first: str
    second: str
    difference: Score
    """The first minus the second, with its interval over queries."""
    num_differing: int
    """Queries that the two have different values of."""
    p_bootstrap: float
    p_randomized: float

    @property
    def verdict(self) -> str:
        """Whether the difference is significant, in words."""
        if not self.num_differing:
            return "no query differs"
        if self.num_differing < MIN_DIFFERING:
            return f"only {self.num_differing} of the queries differ, too few for a test"
        return describe_agreement(self.p_bootstrap, self.p_randomized)


def compare_rankings(systems: Mapping[str, FloatArray], name: str) -> list[RankingTest]:
    """Every two systems tested on the values of their queries; p-values are corrected for being several (Holm)."""
    tests = [
        _test_pair(first, second, systems[first] - systems[second], name) for first, second in combinations(systems, 2)
    ]
    bootstrap, randomized = (
        holm_correction({number: getattr(test, kind) for number, test in enumerate(tests)})
        for kind in ("p_bootstrap", "p_randomized")
    )
    return [
        replace(test, p_bootstrap=bootstrap[number], p_randomized=randomized[number])
        for number, test in enumerate(tests)
    ]


def _test_pair(first: str, second: str, differences: FloatArray, name: str) -> RankingTest:
    count, observed = len(differences), float(differences.mean())
    drawn, exchanged = (
        sum_draws(PAIRED_TESTS[kind].draw(count, SEED), differences[:, None])[:, 0] / count for kind in ("bs", "ar")
    )
    interval = ratio_interval(differences, np.ones(count), UNBOUNDED)
    return RankingTest(
        first,
        second,
        make_score(f"{name} difference", observed, interval, f"paired|unit:query|n:{count}", UNBOUNDED),
        int(np.count_nonzero(differences)),
        bootstrap_p_value(abs(observed), drawn, count),
        randomization_p_value(abs(observed), observed - 2 * exchanged),
    )
