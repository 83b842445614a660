"""What a study's folders and storage say: curves from the logs, tests on the dev sentences, importances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.metrics import PairedTestResult, paired_tests
from regard.run import Run
from regard.training import log
from regard.tuning.analysis.findings import LossCurve, StudyAnalysis
from regard.tuning.analysis.luck import welch_t_test
from regard.tuning.measure import read_sentences
from regard.tuning.results import TrialResult, rank_trials
from regard.tuning.study import METRIC_NAMES, Study, to_optuna_distribution

MAX_TESTED_TRIALS = 16  # trials that are tested against the best: a page of p-values says nothing
MIN_TRIALS_FOR_FANOVA = 4  # trials that a forest can be grown from


@dataclass(frozen=True)
class LogCurves:
    """The log of a trial's first run, over steps, minutes or epochs."""

    steps: list[dict[str, float]]
    validations: list[dict[str, float]]

    def loss_curve(self) -> LossCurve:
        """Both losses at the looks at dev; that of training is a mean since the look before."""
        train: list[float] = []
        start = 0
        for validation in self.validations:
            since = [s["loss"] for s in self.steps[start:] if s["x"] <= validation["x"]]
            start += len(since)
            train.append(sum(since) / len(since) if since else (train[-1] if train else float("nan")))
        return LossCurve([c["x"] for c in self.validations], train, [c["loss"] for c in self.validations])


def curve_unit(study: Study) -> str:
    """What curves are drawn over: what was dealt out equally."""
    return "epochs" if study.each.epochs else "minutes" if study.each.minutes else "steps"


def read_log_curves(result: TrialResult, unit: str) -> LogCurves | None:
    """How a trial went, if its folder is on this machine."""
    if not result.folders or not Run(result.folders[0]).log.exists():
        return None
    records = list(log.read(Run(result.folders[0]).log))
    epoch_lengths: dict[int, int] = {}
    for record in records:
        if record["kind"] == "step":
            epoch, batch = record["data_position"]
            epoch_lengths[epoch] = max(epoch_lengths.get(epoch, 0), batch)
    epoch_length = max(epoch_lengths.values(), default=1)
    steps, validations, seconds, epochs_done = [], [], 0.0, 0.0
    for record in records:
        seconds += record["seconds"]
        if record["kind"] == "step":
            epochs_done = record["data_position"][0] + record["data_position"][1] / epoch_length
        x_by_unit = {
            "epochs": epochs_done,
            "minutes": seconds / 60,
            "steps": float(record.get("number", record.get("step", 0))),
        }
        point = {"x": x_by_unit[unit], "loss": record["loss"], "accuracy": 100 * record["accuracy"]}
        if record["kind"] == "step":
            steps.append(point)
        else:
            score = record["bleu"]
            validations.append(point | ({"bleu": score["value"]} if score else {}))
    return LogCurves(steps, validations)


def analyze_study(study: Study, results: Sequence[TrialResult]) -> tuple[StudyAnalysis, dict[int, LogCurves]]:
    """Everything that words and charts are made of."""
    unit = curve_unit(study)
    optional_curves = {result.number: read_log_curves(result, unit) for result in results}
    log_curves = {number: one for number, one in optional_curves.items() if one is not None}
    loss_curves = {number: one.loss_curve() for number, one in log_curves.items() if one.validations}
    ranking = rank_trials(study, results)
    tests = compare_seeds(study, ranking) if study.seeds > 1 else compare_dev_sentences(ranking)
    return StudyAnalysis(study, results, loss_curves, unit, tests, compute_importances(study, ranking)), log_curves


def read_dev_sentences(result: TrialResult) -> list[dict[str, str]] | None:
    """The dev sentences of a trial's first run, as it translated them."""
    path = Run(result.folders[0]).sentence_scores("dev") if result.folders else None
    return read_sentences(path) if path is not None and path.exists() else None


def compare_dev_sentences(ranking: Sequence[TrialResult]) -> dict[int, PairedTestResult]:
    """Every trial against the best one by BLEU on dev, where both translated the same sentences."""
    sentences_by_trial = {
        result.number: sentences for result in ranking[:MAX_TESTED_TRIALS] if (sentences := read_dev_sentences(result))
    }
    if not ranking or ranking[0].number not in sentences_by_trial:
        return {}
    best = sentences_by_trial[ranking[0].number]
    references = [row["reference"] for row in best]
    translations = {
        str(n): [r["translation"] for r in one]
        for n, one in sentences_by_trial.items()
        if [r["reference"] for r in one] == references
    }
    if len(translations) < 2:
        return {}
    tests = paired_tests(translations, references, "bs", ("bleu",))
    return {int(number): sentences["bleu"] for number, sentences in tests.items() if int(number) != ranking[0].number}


def compare_seeds(study: Study, ranking: Sequence[TrialResult]) -> dict[int, PairedTestResult]:
    """Every trial against the best one by the scores of its seeds: what they are ranked by is what is tested."""
    best, name = ranking[0] if ranking else None, METRIC_NAMES[study.metric]
    return {
        result.number: PairedTestResult(
            name, value, welch_t_test(best.values, result.values), "Welch's t", value - (best.value or 0.0)
        )
        for result in ranking[1:MAX_TESTED_TRIALS]
        if best and (value := result.value) is not None and min(len(best.values), len(result.values)) > 1
    }


def compute_importances(study: Study, ranking: Sequence[TrialResult]) -> dict[str, float]:
    """fANOVA over the trials that work: the share of the variation that each setting explains by itself."""
    varying_names = [name for name in study.search_space() if len({result.params.get(name) for result in ranking}) > 1]
    complete_trials = [result for result in ranking if all(name in result.params for name in varying_names)]
    if (
        len(complete_trials) < MIN_TRIALS_FOR_FANOVA
        or not varying_names
        or len({result.value for result in complete_trials}) < 2
    ):
        return {}
    import optuna

    search_space = study.search_space()
    distributions = {name: to_optuna_distribution(search_space[name]) for name in varying_names}
    scratch_study = optuna.create_study(direction="maximize" if study.maximize else "minimize")
    for result in complete_trials:
        params: dict[str, Any] = {name: result.params[name] for name in varying_names}
        scratch_study.add_trial(optuna.create_trial(params=params, distributions=distributions, value=result.value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return {name: float(share) for name, share in evaluator.evaluate(scratch_study, params=varying_names).items()}
