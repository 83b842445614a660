"""What the trials of a study can say of one setting: which of them may be held against which, and what else differs."""

import math
from collections.abc import Collection, Sequence

from regard.tuning.analysis.luck import Block, shuffled
from regard.tuning.results import Result
from regard.tuning.space import Plain

MANY = 6  # values of a number above which it is looked at as a whole, since hardly any comes twice


def tried(ranked: Sequence[Result], name: str) -> tuple[list[Result], list[Plain]]:
    """The trials that give a setting, and its values in order."""
    trials = [result for result in ranked if name in result.point and result.value is not None]
    return trials, sorted({r.point[name] for r in trials}, key=lambda v: (isinstance(v, str), v))


def many(values: Collection[Plain | None]) -> bool:
    return len(values) > MANY and all(isinstance(value, int | float) for value in values)


def places(trials: Sequence[Result], name: str) -> list[tuple[float, float]]:
    return [(float(result.point[name]), result.value or 0.0) for result in trials]


def blocks(trials: Sequence[Result], name: str) -> list[Block]:
    """Scores that may change places if a setting does nothing: of all seeds among trials that are alike in all else.

    Where there is one seed, or no two trials are so alike, the scores of all trials.
    """
    alike = [other for other in _others(trials, name) if _varies_within(trials, name, other)]
    found: dict[tuple[Plain | None, ...], list[tuple[Plain, float]]] = {}
    for result in trials:
        block = found.setdefault(tuple(result.point.get(other) for other in alike), [])
        block += [(result.point[name], score) for score in result.values]
    seeds = any(len(result.values) > 1 for result in trials)
    if seeds and all(len({label for label, _ in block}) > 1 for block in found.values()):
        return list(found.values())
    return [[(result.point[name], result.value or 0.0) for result in trials]]


def changed(trials: Sequence[Result], name: str, best: Plain, worst: Plain) -> list[str]:
    """Other settings that were not tried alike with the best and with the worst value of this one."""
    ends = [[result.point for result in trials if result.point[name] == value] for value in (best, worst)]
    return [
        other
        for other in _others(trials, name)
        if _differ(*([point.get(other) for point in points] for points in ends))
    ]


def _differ(one: Sequence[Plain | None], two: Sequence[Plain | None]) -> bool:
    """Whether two lots of values are not the same; of numbers that hardly ever repeat, whether luck may be ruled out.

    Where there are too few of those to say, they count as different.
    """
    if not many({*one, *two}):
        return set(one) != set(two)
    found = shuffled([[(side, float(value or 0)) for side, lot in enumerate((one, two)) for value in lot]])
    return found.stands_out or not found.tells


def _others(trials: Sequence[Result], name: str) -> list[str]:
    return list(dict.fromkeys(other for result in trials for other in result.point if other != name))


def _varies_within(trials: Sequence[Result], name: str, other: str) -> bool:
    """Whether one value of a setting was tried with several of another."""
    pairs = {(result.point[name], result.point.get(other)) for result in trials}
    return len(pairs) > len({value for value, _ in pairs})


def stands_out(ranked: Sequence[Result], name: str) -> bool:
    """Whether what a setting did is more than luck would do."""
    trials, values = tried(ranked, name)
    if len(values) < 2:
        return False
    if many(values):
        rho, limit = rank_correlation(places(trials, name))
        return abs(rho) > limit
    return shuffled(blocks(trials, name)).stands_out


def rank_correlation(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Spearman's rank correlation, and how large luck makes it in 19 of 20 cases."""
    ranks = [_ranks([p[side] for p in points]) for side in (0, 1)]
    middle = (len(points) - 1) / 2
    over = sum((a - middle) * (b - middle) for a, b in zip(*ranks, strict=True))
    under = math.sqrt(math.prod(sum((a - middle) ** 2 for a in side) for side in ranks)) or 1.0
    return over / under, 1.96 / math.sqrt(max(2, len(points)) - 1)


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]
