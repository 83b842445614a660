"""What the statements about a study are computed from: results, curves, significance tests and importances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regard.evaluation import SentenceResult
from regard.jobs.evaluate import read_sentences
from regard.metrics import PairedTestResult, paired_tests
from regard.metrics.statistical_tests import welch_t_test
from regard.tuning.analysis.curves import LogCurves, LossCurve, curve_unit, read_log_curves
from regard.tuning.results import TrialResult, rank_trials
from regard.tuning.study import METRIC_NAMES, Study

MAX_TESTED_TRIALS = 16  # trials that are tested against the best one
MIN_TRIALS_FOR_FANOVA = 4


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
    """By trial number, against the best trial: on the dev sentences, or over seeds if there are several."""
    importances: Mapping[str, float] = field(default_factory=dict)

    @property
    def ranking(self) -> list[TrialResult]:
        return rank_trials(self.study, self.results)

    @property
    def tested_metric(self) -> str:
        """The name of the metric that the tests compare: that of the study over seeds, BLEU on sentences."""
        return METRIC_NAMES[self.study.metric if self.study.seeds > 1 else "bleu"]


def analyze_study(study: Study, results: Sequence[TrialResult]) -> tuple[StudyAnalysis, dict[int, LogCurves]]:
    """The analysis of a study, and the curves of its trials by number."""
    unit = curve_unit(study)
    runs = {result.number: result.first_run for result in results}
    optional_curves = {number: read_log_curves(run, unit) for number, run in runs.items() if run is not None}
    log_curves = {number: curves for number, curves in optional_curves.items() if curves is not None}
    loss_curves = {number: curves.loss_curve() for number, curves in log_curves.items() if curves.validations}
    ranking = rank_trials(study, results)
    tests = compare_seeds(study, ranking) if study.seeds > 1 else compare_dev_sentences(ranking)
    return StudyAnalysis(study, results, loss_curves, unit, tests, compute_importances(study, ranking)), log_curves


def read_dev_sentences(result: TrialResult) -> list[SentenceResult] | None:
    """The dev sentences of a trial's first run, with its translations."""
    run = result.first_run
    return read_sentences(run, "dev") if run is not None and run.sentence_scores("dev").exists() else None


def compare_dev_sentences(ranking: Sequence[TrialResult]) -> dict[int, PairedTestResult]:
    """Every trial against the best one by BLEU on dev, if both translated the same sentences."""
    sentences_by_trial = {
        result.number: sentences for result in ranking[:MAX_TESTED_TRIALS] if (sentences := read_dev_sentences(result))
    }
    if not ranking or ranking[0].number not in sentences_by_trial:
        return {}
    best = sentences_by_trial[ranking[0].number]
    references = [sentence.reference for sentence in best]
    translations = {
        str(number): [sentence.translation for sentence in sentences]
        for number, sentences in sentences_by_trial.items()
        if [sentence.reference for sentence in sentences] == references
    }
    if len(translations) < 2:
        return {}
    tests = paired_tests(translations, references, "bs", ("bleu",))
    return {int(number): by_metric["bleu"] for number, by_metric in tests.items() if int(number) != ranking[0].number}


def compare_seeds(study: Study, ranking: Sequence[TrialResult]) -> dict[int, PairedTestResult]:
    """Every trial against the best one by the scores of its seeds, whose means are ranked."""
    best, name = ranking[0] if ranking else None, METRIC_NAMES[study.metric]
    return {
        result.number: PairedTestResult(
            name, value, welch_t_test(best.values, result.values), "Welch's t", value - (best.value or 0.0)
        )
        for result in ranking[1:MAX_TESTED_TRIALS]
        if best and (value := result.value) is not None and min(len(best.values), len(result.values)) > 1
    }


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
