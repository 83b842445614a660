"""Effects of one setting: which trials may be compared, whether the effect is significant, and confounders."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from regard.metrics.statistical_tests import SIGNIFICANCE_LEVEL, Block, permutation_test, spearman_test
from regard.tuning.results import TrialResult
from regard.tuning.space import ParamValue

MAX_DISCRETE_VALUES = 6  # a number with more values is continuous: hardly any value occurs twice


def select_trials(ranking: Sequence[TrialResult], name: str) -> tuple[list[TrialResult], list[ParamValue]]:
    """The trials that have a setting, and its values in order."""
    trials = [result for result in ranking if name in result.params and result.value is not None]
    return trials, sorted({r.params[name] for r in trials}, key=lambda v: (isinstance(v, str), v))


def is_continuous(values: Collection[ParamValue | None]) -> bool:
    return len(values) > MAX_DISCRETE_VALUES and all(isinstance(value, int | float) for value in values)


def pair_values_with_scores(trials: Sequence[TrialResult], name: str) -> list[tuple[float, float]]:
    return [(float(result.params[name]), result.value or 0.0) for result in trials]


def build_blocks(trials: Sequence[TrialResult], name: str) -> list[Block]:
    """Scores that are exchangeable if a setting has no effect: of all seeds, among trials that are equal otherwise.

    With one seed, or without such trials, the scores of all trials are one block.
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
    """Other settings whose values differ between the trials with the best and with the worst value of this one."""
    extreme_params = [[result.params for result in trials if result.params[name] == value] for value in (best, worst)]
    return [
        other
        for other in _other_parameters(trials, name)
        if _differ(*([params.get(other) for params in group] for group in extreme_params))
    ]


def _differ(values_a: Sequence[ParamValue | None], values_b: Sequence[ParamValue | None]) -> bool:
    """Whether two samples have different values; for continuous numbers, whether their means differ significantly.

    Samples that are too small for a test count as different.
    """
    if not is_continuous({*values_a, *values_b}):
        return set(values_a) != set(values_b)
    samples = enumerate((values_a, values_b))
    test = permutation_test([[(label, float(value or 0)) for label, values in samples for value in values]])
    return test.significant or not test.can_reach_significance


def _other_parameters(trials: Sequence[TrialResult], name: str) -> list[str]:
    return list(dict.fromkeys(other for result in trials for other in result.params if other != name))


def _varies_within(trials: Sequence[TrialResult], name: str, other: str) -> bool:
    """Whether one value of a setting was tried with several values of another."""
    pairs = {(result.params[name], result.params.get(other)) for result in trials}
    return len(pairs) > len({value for value, _ in pairs})


@dataclass(frozen=True)
class EffectTest:
    """Whether the score depends on a setting."""

    p_value: float
    """Corrected for all tests of the study, once these are known."""
    can_reach_significance: bool = True
    """Whether there are enough trials for any effect to be significant."""
    rho: float | None = None
    """The rank correlation with the score, of a continuous setting."""

    @property
    def significant(self) -> bool:
        return self.can_reach_significance and self.p_value < SIGNIFICANCE_LEVEL


def measure_effect(ranking: Sequence[TrialResult], name: str) -> EffectTest | None:
    """The test of the effect of a setting, by itself; None if it has one value only."""
    trials, values = select_trials(ranking, name)
    if len(values) < 2:
        return None
    if is_continuous(values):
        correlation = spearman_test(*zip(*pair_values_with_scores(trials, name), strict=True))
        return EffectTest(correlation.p_value, rho=correlation.rho)
    permutations = permutation_test(build_blocks(trials, name))
    return EffectTest(permutations.p_value, permutations.can_reach_significance)
