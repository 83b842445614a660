"""What the statements about a study are computed from: results, curves, significance tests and importances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from regard.metrics import PairedTestResult
from regard.metrics.labels.statistics import CountedScore
from regard.metrics.significance import compare_with_selected
from regard.metrics.statistical_tests import holm_steps, tukey_p_value, welch_t_test
from regard.tuning.analysis.curves import LogCurves, LossCurve, curve_unit, read_log_curves
from regard.tuning.analysis.effects import EffectTest, measure_effect
from regard.tuning.results import TrialResult, name_metric, rank_trials
from regard.tuning.study import Study

MAX_TESTED_TRIALS = 16  # trials that are tested against the best one
MIN_TRIALS_FOR_FANOVA = 4
RANKING = ("ranking", "")
SEED_TESTS = "Tukey's and Welch's tests"


@dataclass(frozen=True)
class StudyAnalysis:
    """A study with everything that is computed from its trials."""

    study: Study
    results: Sequence[TrialResult]
    loss_curves: Mapping[int, LossCurve] = field(default_factory=dict)
    """By trial number."""
    unit: str = "steps"
    """The x-axis of the curves."""
    tests: Mapping[int, PairedTestResult] = field(default_factory=dict)
    """By trial number, against the best trial: on the dev examples, or over seeds if there are several.

    Corrected for the selection of the best, but not for the tests of settings: see `claims`.
    """
    importances: Mapping[str, float] = field(default_factory=dict)

    @property
    def ranking(self) -> list[TrialResult]:
        return rank_trials(self.study, self.results)

    @cached_property
    def claims(self) -> "StudyClaims":
        """All that this study may call significant."""
        names = dict.fromkeys(name for result in self.ranking for name in result.params)
        effects = {name: test for name in names if (test := measure_effect(self.ranking, name)) is not None}
        return correct_claims(self.tests, effects)

    @property
    def metric(self) -> str:
        """The name of the metric that ranks the trials."""
        return name_metric(self.study, self.results)

    @property
    def digits(self) -> int:
        """Decimal places of the metric that people read."""
        return self.study.ranking_metric.digits

    @property
    def tested_metric(self) -> str:
        """The name of the metric that the tests compare: that of the study, or one that single examples have."""
        return next((test.metric for test in self.tests.values()), self.metric)


@dataclass(frozen=True)
class StudyClaims:
    """The tests of a study, corrected together: of studies of equal settings, one in twenty has a significant one."""

    trials: Mapping[int, PairedTestResult]
    """By trial number, against the best trial."""
    effects: Mapping[str, EffectTest]
    """By setting."""

    @property
    def num_tests(self) -> int:
        """Tests that could be significant."""
        return len(self.trials) + sum(effect.can_reach_significance for effect in self.effects.values())


def correct_claims(trials: Mapping[int, PairedTestResult], effects: Mapping[str, EffectTest]) -> StudyClaims:
    """Holm's method over the effects of settings and the ranking, which counts as one test.

    The tests of trials against the best one are corrected for being many when they come here, so that their smallest
    p-value is that of one test.
    """
    by_setting = {name: effect.p_value for name, effect in effects.items() if effect.can_reach_significance}
    ranking_p = min((test.decisive_p or 0.0 for test in trials.values()), default=None)
    steps = holm_steps({("setting", name): p for name, p in by_setting.items()} | _as_one_test(ranking_p))
    corrected_effects = {
        name: replace(effect, p_value=steps["setting", name].p_value) if name in by_setting else effect
        for name, effect in effects.items()
    }
    corrected_trials = {}
    for number, test in trials.items():
        factor, smallest = steps[RANKING]
        corrected_p = min(1.0, max(smallest, factor * (test.decisive_p or 0.0)))
        corrected_trials[number] = replace(test, adjusted_p=corrected_p)
    return StudyClaims(corrected_trials, corrected_effects)


def _as_one_test(ranking_p: float | None) -> dict[tuple[str, str], float]:
    return {} if ranking_p is None else {RANKING: ranking_p}


def analyze_study(study: Study, results: Sequence[TrialResult]) -> tuple[StudyAnalysis, dict[int, LogCurves]]:
    """The analysis of a study, and the curves of its trials by number."""
    unit = curve_unit(study)
    runs = {result.number: result.first_run for result in results}
    optional_curves = {number: read_log_curves(run, unit) for number, run in runs.items() if run is not None}
    log_curves = {number: curves for number, curves in optional_curves.items() if curves is not None}
    loss_curves = {number: curves.loss_curve() for number, curves in log_curves.items() if curves.validations}
    ranking = rank_trials(study, results)
    tests = compare_seeds(study, ranking) if study.seeds > 1 else compare_dev_examples(study, ranking)
    return StudyAnalysis(study, results, loss_curves, unit, tests, compute_importances(study, ranking)), log_curves


def compare_dev_examples(study: Study, ranking: Sequence[TrialResult]) -> dict[int, PairedTestResult]:
    """Every trial against the best one, if both predicted for the same dev examples.

    By the metric of the study or, where it is not known of single examples, by the main score of the task.
    """
    if not ranking:
        return {}
    scores = ranking[0].first_summary.scores if ranking[0].first_summary else ()
    keys = dict.fromkeys((study.find_metric(scores), study.task.main_score, *scores))
    tests = (compare_counted(count_dev_examples(study, ranking, key), study) for key in keys)
    return next(filter(None, tests), {})


def count_dev_examples(study: Study, ranking: Sequence[TrialResult], metric: str) -> dict[int, CountedScore]:
    """What each dev example counts for a metric, by trial number; of trials with the same examples as the best one."""
    runs = {result.number: result.first_run for result in ranking[:MAX_TESTED_TRIALS]}
    counted = {number: study.task.count_stored(run, "dev", metric) for number, run in runs.items() if run is not None}
    best = counted.get(ranking[0].number)
    if best is None:
        return {}
    return {number: one for number, one in counted.items() if one is not None and one.examples == best.examples}


def compare_counted(counted: Mapping[int, CountedScore], study: Study) -> dict[int, PairedTestResult]:
    """Every trial but the first, which is the best, against it."""
    if len(counted) < 2:
        return {}
    (_, best), *others = counted.items()
    alone, corrected = compare_with_selected(list(counted.values()), selected=0)
    return {
        number: PairedTestResult(
            metric=one.name,
            score=one.value,
            p=float(alone[n]),
            signature="",
            difference=one.value - best.value,
            num_differing=one.count_differing(best),
            adjusted_p=float(corrected[n]),
            units=one.units,
            answers=study.task.prediction_words.answers,
        )
        for n, (number, one) in enumerate(others, start=1)
    }


def compare_seeds(study: Study, ranking: Sequence[TrialResult]) -> dict[int, PairedTestResult]:
    """Every trial against the best one by the scores of its seeds, whose means are ranked.

    Tukey's test is corrected for the selection of the best, and assumes that all trials vary equally. Welch's does not,
    so that a trial which varies more than others is not the winner by luck. The larger p-value counts.
    """
    name = name_metric(study, ranking)
    repeated = [result for result in ranking if len(result.values) > 1 and result.value is not None]
    if not repeated or repeated[0] is not ranking[0]:
        return {}
    best, samples = repeated[0], [result.values for result in repeated]
    tests = {}
    for n, result in enumerate(repeated[1:MAX_TESTED_TRIALS], start=1):
        alone = welch_t_test(best.values, result.values)
        corrected = max(alone, tukey_p_value(samples, 0, n))
        value = result.value or 0.0
        difference = value - (best.value or 0.0)
        tests[result.number] = PairedTestResult(name, value, alone, SEED_TESTS, difference, None, corrected)
    return tests


def find_varying_names(study: Study, ranking: Sequence[TrialResult]) -> list[str]:
    """The settings of the search space that differ between ranked trials."""
    names = study.search_space().distributions
    return [name for name in names if len({result.params.get(name) for result in ranking}) > 1]


def compute_importances(study: Study, ranking: Sequence[TrialResult]) -> dict[str, float]:
    """fANOVA over the ranked trials: the share of the variance that each setting explains by itself."""
    varying_names = find_varying_names(study, ranking)
    complete_trials = [result for result in ranking if all(name in result.params for name in varying_names)]
    if (
        len(complete_trials) < MIN_TRIALS_FOR_FANOVA
        or not varying_names
        or len({result.value for result in complete_trials}) < 2
    ):
        return {}
    import optuna

    space = study.search_space().distributions
    distributions = {name: space[name].to_optuna() for name in varying_names}
    scratch_study = optuna.create_study(direction=study.direction)
    for result in complete_trials:
        params = {name: result.params[name] for name in varying_names}
        scratch_study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=result.value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return {name: float(share) for name, share in evaluator.evaluate(scratch_study, params=varying_names).items()}
