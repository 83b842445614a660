"""What a study's folders and storage say: curves from the logs, tests on the dev sentences, importances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.metrics import Test, paired_tests
from regard.run import Run
from regard.training import log
from regard.tuning.analysis.findings import Curve, Evidence
from regard.tuning.analysis.luck import welch
from regard.tuning.measure import read_sentences
from regard.tuning.results import Result, ranking
from regard.tuning.study import METRIC_NAMES, Study, distribution

TESTED = 16  # trials that are tested against the best: a page of p-values says nothing
SMALLEST = 4  # trials that a forest can be grown from


@dataclass(frozen=True)
class Course:
    """The log of a trial's first run, over steps, minutes or epochs."""

    steps: list[dict[str, float]]
    checks: list[dict[str, float]]

    def curve(self) -> Curve:
        """Both losses at the looks at dev; that of training is a mean since the look before."""
        train: list[float] = []
        start = 0
        for check in self.checks:
            since = [s["loss"] for s in self.steps[start:] if s["x"] <= check["x"]]
            start += len(since)
            train.append(sum(since) / len(since) if since else (train[-1] if train else float("nan")))
        return Curve([c["x"] for c in self.checks], train, [c["loss"] for c in self.checks])


def unit_of(study: Study) -> str:
    """What curves are drawn over: what was dealt out equally."""
    return "epochs" if study.each.epochs else "minutes" if study.each.minutes else "steps"


def course(result: Result, unit: str) -> Course | None:
    """How a trial went, if its folder is on this machine."""
    if not result.folders or not Run(result.folders[0]).log.exists():
        return None
    records = list(log.read(Run(result.folders[0]).log))
    longest: dict[int, int] = {}
    for record in records:
        if record["kind"] == "step":
            epoch, batch = record["place"]
            longest[epoch] = max(longest.get(epoch, 0), batch)
    whole = max(longest.values(), default=1)
    steps, checks, seconds, place = [], [], 0.0, 0.0
    for record in records:
        seconds += record["seconds"]
        if record["kind"] == "step":
            place = record["place"][0] + record["place"][1] / whole
        at = {"epochs": place, "minutes": seconds / 60, "steps": float(record.get("number", record.get("step", 0)))}
        point = {"x": at[unit], "loss": record["loss"], "accuracy": 100 * record["accuracy"]}
        if record["kind"] == "step":
            steps.append(point)
        else:
            score = record["bleu"]
            checks.append(point | ({"bleu": score["value"]} if score else {}))
    return Course(steps, checks)


def gather(study: Study, results: Sequence[Result]) -> tuple[Evidence, dict[int, Course]]:
    """Everything that words and charts are made of."""
    unit = unit_of(study)
    found = {result.number: course(result, unit) for result in results}
    courses = {number: one for number, one in found.items() if one is not None}
    curves = {number: one.curve() for number, one in courses.items() if one.checks}
    ranked = ranking(study, results)
    tests = seed_tests(study, ranked) if study.seeds > 1 else dev_tests(ranked)
    return Evidence(study, results, curves, unit, tests, importances(study, ranked)), courses


def dev_rows(result: Result) -> list[dict[str, str]] | None:
    """The dev sentences of a trial's first run, as it translated them."""
    path = Run(result.folders[0]).sentence_scores("dev") if result.folders else None
    return read_sentences(path) if path is not None and path.exists() else None


def dev_tests(ranked: Sequence[Result]) -> dict[int, Test]:
    """Every trial against the best one by BLEU on dev, where both translated the same sentences."""
    rows = {result.number: found for result in ranked[:TESTED] if (found := dev_rows(result))}
    if not ranked or ranked[0].number not in rows:
        return {}
    best = rows[ranked[0].number]
    references = [row["reference"] for row in best]
    alike = {
        str(n): [r["translation"] for r in one]
        for n, one in rows.items()
        if [r["reference"] for r in one] == references
    }
    if len(alike) < 2:
        return {}
    tests = paired_tests(alike, references, "bs", ("bleu",))
    return {int(number): found["bleu"] for number, found in tests.items() if int(number) != ranked[0].number}


def seed_tests(study: Study, ranked: Sequence[Result]) -> dict[int, Test]:
    """Every trial against the best one by the scores of its seeds: what they are ranked by is what is tested."""
    best, name = ranked[0] if ranked else None, METRIC_NAMES[study.metric]
    return {
        result.number: Test(name, value, welch(best.values, result.values), "Welch's t", value - (best.value or 0.0))
        for result in ranked[1:TESTED]
        if best and (value := result.value) is not None and min(len(best.values), len(result.values)) > 1
    }


def importances(study: Study, ranked: Sequence[Result]) -> dict[str, float]:
    """fANOVA over the trials that work: the share of the variation that each setting explains by itself."""
    varying = [name for name in study.choices() if len({result.point.get(name) for result in ranked}) > 1]
    whole = [result for result in ranked if all(name in result.point for name in varying)]
    if len(whole) < SMALLEST or not varying or len({result.value for result in whole}) < 2:
        return {}
    import optuna

    choices = study.choices()
    distributions = {name: distribution(choices[name]) for name in varying}
    copy = optuna.create_study(direction="maximize" if study.up else "minimize")
    for result in whole:
        params: dict[str, Any] = {name: result.point[name] for name in varying}
        copy.add_trial(optuna.create_trial(params=params, distributions=distributions, value=result.value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return {name: float(share) for name, share in evaluator.evaluate(copy, params=varying).items()}
