"""What the trials of a study can say of one setting: which of them may be held against which, and what else differs."""

import math
from collections.abc import Collection, Sequence

from regard.tuning.analysis.luck import Block, permutation_test
from regard.tuning.results import TrialResult
from regard.tuning.space import ParamValue

MAX_DISCRETE_VALUES = 6  # values of a number above which it is looked at as a whole, since hardly any comes twice


def select_trials(ranking: Sequence[TrialResult], name: str) -> tuple[list[TrialResult], list[ParamValue]]:
    """The trials that give a setting, and its values in order."""
    trials = [result for result in ranking if name in result.params and result.value is not None]
    return trials, sorted({r.params[name] for r in trials}, key=lambda v: (isinstance(v, str), v))


def is_continuous(values: Collection[ParamValue | None]) -> bool:
    return len(values) > MAX_DISCRETE_VALUES and all(isinstance(value, int | float) for value in values)


def pair_values_with_scores(trials: Sequence[TrialResult], name: str) -> list[tuple[float, float]]:
    return [(float(result.params[name]), result.value or 0.0) for result in trials]


def build_blocks(trials: Sequence[TrialResult], name: str) -> list[Block]:
    """Scores that may change places if a setting does nothing: of all seeds among trials that are alike in all else.

    Where there is one seed, or no two trials are so alike, the scores of all trials.
    """
    blocking_parameters = [other for other in _other_parameters(trials, name) if _varies_within(trials, name, other)]
    groups: dict[tuple[ParamValue | None, ...], list[tuple[ParamValue, float]]] = {}
    for result in trials:
        block = groups.setdefault(tuple(result.params.get(other) for other in blocking_parameters), [])
        block += [(result.params[name], score) for score in result.values]
    has_seeds = any(len(result.values) > 1 for result in trials)
    if has_seeds and all(len({label for label, _ in block}) > 1 for block in groups.values()):
        return list(groups.values())
    return [[(result.params[name], result.value or 0.0) for result in trials]]


def find_confounders(trials: Sequence[TrialResult], name: str, best: ParamValue, worst: ParamValue) -> list[str]:
    """Other settings that were not tried alike with the best and with the worst value of this one."""
    end_params = [[result.params for result in trials if result.params[name] == value] for value in (best, worst)]
    return [
        other
        for other in _other_parameters(trials, name)
        if _differ(*([point.get(other) for point in points] for points in end_params))
    ]


def _differ(values_a: Sequence[ParamValue | None], values_b: Sequence[ParamValue | None]) -> bool:
    """Whether two lots of values are not the same; of numbers that hardly ever repeat, whether luck may be ruled out.

    Where there are too few of those to say, they count as different.
    """
    if not is_continuous({*values_a, *values_b}):
        return set(values_a) != set(values_b)
    test = permutation_test(
        [[(side, float(value or 0)) for side, lot in enumerate((values_a, values_b)) for value in lot]]
    )
    return test.significant or not test.can_reach_significance


def _other_parameters(trials: Sequence[TrialResult], name: str) -> list[str]:
    return list(dict.fromkeys(other for result in trials for other in result.params if other != name))


def _varies_within(trials: Sequence[TrialResult], name: str, other: str) -> bool:
    """Whether one value of a setting was tried with several of another."""
    pairs = {(result.params[name], result.params.get(other)) for result in trials}
    return len(pairs) > len({value for value, _ in pairs})


def is_significant(ranking: Sequence[TrialResult], name: str) -> bool:
    """Whether what a setting did is more than luck would do."""
    trials, values = select_trials(ranking, name)
    if len(values) < 2:
        return False
    if is_continuous(values):
        rho, limit = spearman_correlation(pair_values_with_scores(trials, name))
        return abs(rho) > limit
    return permutation_test(build_blocks(trials, name)).significant


def spearman_correlation(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Spearman's rank correlation, and how large luck makes it in 19 of 20 cases."""
    ranks = [_rank_values([p[side] for p in points]) for side in (0, 1)]
    mean_rank = (len(points) - 1) / 2
    covariance = sum((a - mean_rank) * (b - mean_rank) for a, b in zip(*ranks, strict=True))
    normalizer = math.sqrt(math.prod(sum((a - mean_rank) ** 2 for a in side) for side in ranks)) or 1.0
    return covariance / normalizer, 1.96 / math.sqrt(max(2, len(points)) - 1)


def _rank_values(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]
