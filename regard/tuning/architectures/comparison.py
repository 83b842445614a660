"""What a study of architectures shows: the test scores of each, and the difference between any two.

A difference has two sources of chance: which texts were drawn for the test set, and which seeds were trained with. The
first is that of a paired bootstrap over the test examples, in which an architecture's score is the mean of its seeds'.
The second is Student's t with the variance of the scores over seeds. Both are added.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, variance
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import RunError
from regard.metrics.intervals import widen_for_sample_size
from regard.metrics.labels.statistics import CountedScore, FloatArray
from regard.metrics.score import digits_of
from regard.metrics.significance import TIE
from regard.metrics.statistical_tests import SIGNIFICANCE_LEVEL, holm_correction
from regard.report import Table, Value
from regard.run import Run
from regard.tuning.architectures.sizes import count_run_weights
from regard.tuning.measure import RunSummary
from regard.tuning.results import TrialResult
from regard.tuning.study import Study

NUM_DRAWS = 4_000
SEED = 12345
QUANTILES = (0.025, 0.975)
MAX_SCORE = 100.0


@dataclass(frozen=True)
class ArchitectureResult:
    """One architecture: its size, and the test score of each seed."""

    name: str
    params: Mapping[str, Any]
    weights: int
    """Outside the token embeddings."""
    parameters: int
    """In all."""
    scores: tuple[float, ...]
    """On the test set, one for each seed."""
    low: float
    high: float
    """The 95% interval of the mean over seeds."""
    summaries: tuple[RunSummary, ...]
    folders: tuple[Path, ...]

    @property
    def score(self) -> float:
        return mean(self.scores)

    @property
    def collapse_reason(self) -> str:
        """Why a model does not work, of the first seed with one; empty where all work."""
        return next((one.collapse_reason for one in self.summaries if one.collapse_reason), "")

    def as_dict(self) -> dict[str, Any]:
        return {
            "settings": dict(self.params),
            "weights": self.weights,
            "parameters": self.parameters,
            "score": self.score,
            "low": self.low,
            "high": self.high,
            "scores": list(self.scores),
            "steps": [one.steps for one in self.summaries],
            "epochs": [one.epochs for one in self.summaries],
            "collapsed": self.collapse_reason,
        }


@dataclass(frozen=True)
class ArchitectureTest:
    """The difference between two architectures: the first minus the second."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    adjusted_p: float
    """Corrected for all pairs (Holm)."""

    @property
    def significant(self) -> bool:
        return self.adjusted_p < SIGNIFICANCE_LEVEL

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, repr=False)
class ArchitectureComparison:
    """Architectures compared on one job."""

    folder: Path
    task: str
    metric: str
    """The name of the score."""
    units: str
    """What the test examples are."""
    num_train: int
    num_test: int
    budget: Mapping[str, float]
    """Minutes or steps of each run."""
    results: tuple[ArchitectureResult, ...]
    tests: tuple[ArchitectureTest, ...]
    failures: Mapping[str, str]
    """Architectures that were not trained, with the reason."""
    findings: tuple[str, ...] = ()
    """What the comparison shows, in sentences that are each computed."""

    @property
    def digits(self) -> int:
        return digits_of(self.metric)

    def as_table(self) -> Table:
        """One row for each architecture."""
        return Table.from_rows(_row(one, self.metric, self.digits) for one in self.results)

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "metric": self.metric,
            "train": self.num_train,
            "test": self.num_test,
            "each": dict(self.budget),
            "architectures": {one.name: one.as_dict() for one in self.results},
            "tests": [one.as_dict() for one in self.tests],
            "failures": dict(self.failures),
            "findings": list(self.findings),
        }

    def __repr__(self) -> str:
        return f"<ArchitectureComparison {self.folder}: {', '.join(one.name for one in self.results)}>"

    def __str__(self) -> str:
        return "\n".join(self.findings)

    def _repr_html_(self) -> str:
        from regard.report import Paragraph, TableView, render_fragment

        return render_fragment([Paragraph(str(self)), TableView(self.as_table())])


def _row(one: ArchitectureResult, metric: str, digits: int) -> dict[str, Value]:
    layers = [one.params[name] for name in ("model.encoder_layers", "model.decoder_layers") if name in one.params]
    return {
        "architecture": one.name,
        "layers": " + ".join(map(str, layers or [one.params["model.layers"]])),
        "feed-forward": one.params["model.ffn"],
        "weights": one.weights,
        "epochs": round(mean(summary.epochs for summary in one.summaries), 1),
        metric: round(one.score, digits),
        "95% interval": f"{one.low:.{digits}f} to {one.high:.{digits}f}",
        "seeds": " ".join(f"{score:.{digits}f}" for score in one.scores),
    }


@dataclass(frozen=True)
class SeedScores:
    """The test scores of the seeds of one architecture."""

    counted: Sequence[CountedScore]

    @property
    def values(self) -> list[float]:
        return [one.value for one in self.counted]

    def resample(self, draws: NDArray[np.uint16]) -> FloatArray:
        """The mean over seeds for drawn sets of examples, around that of all: (draws,)."""
        drawn = np.mean([one.resample(draws) for one in self.counted], axis=0)
        return np.asarray((drawn - drawn.mean()) * widen_for_sample_size(draws.shape[1]))

    @property
    def seed_variance(self) -> float:
        """Of the mean over seeds; 0 where there is one, of which nothing is known."""
        return variance(self.values) / len(self.values) if len(self.values) > 1 else 0.0


def compare_results(folder: Path, study: Study, results: Sequence[TrialResult]) -> ArchitectureComparison:
    """The comparison that the finished trials of a study show."""
    complete = [result for result in results if result.state == "complete"]
    failures = {result.name: result.reason or result.state for result in results if result.state != "complete"}
    if len(complete) < 2:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise RunError(f"{folder}: fewer than two architectures have been trained ({reasons})")
    seeds = {result.name: SeedScores(_count_test(study, result)) for result in complete}
    first = next(iter(seeds.values())).counted[0]
    if any(one.examples != first.examples for scores in seeds.values() for one in scores.counted):
        raise RunError(f"{folder}: its runs were scored on different test sets, so they cannot be compared")
    n = first.num_examples
    rng = np.random.default_rng(SEED)
    draws = rng.multinomial(n, np.full(n, 1 / n), size=NUM_DRAWS).astype(np.uint16)
    drawn = {name: scores.resample(draws) for name, scores in seeds.items()}
    config = Run(complete[0].folders[0]).load_config()
    data = study.task.open_data(Run(complete[0].folders[0]), config)
    return ArchitectureComparison(
        folder=folder,
        task=study.task.name,
        metric=first.name,
        units=first.units,
        num_train=len(data.train),
        num_test=n,
        budget=study.each.limits(),
        results=tuple(_summarize(result, seeds[result.name], drawn[result.name]) for result in complete),
        tests=tuple(_test_pairs(seeds, drawn)),
        failures=failures,
    )


def _count_test(study: Study, result: TrialResult) -> list[CountedScore]:
    """What each test example counts for the score of the study, for each seed."""
    key = study.find_metric(result.seed_summaries[0].scores)
    runs = [Run(folder) for folder in result.folders]
    counted = [study.task.count_stored(run, "test", key) for run in runs]
    missing = [run for run, one in zip(runs, counted, strict=True) if one is None]
    if missing or len(runs) != study.seeds:
        raise RunError(
            f"{missing[0].folder if missing else result.name}: has no scores on the test set; give --test, or let the "
            f"test set be held out of the training files by giving neither --dev nor --test"
        )
    return [one for one in counted if one is not None]


def _summarize(result: TrialResult, seeds: SeedScores, drawn: FloatArray) -> ArchitectureResult:
    outside, parameters = count_run_weights(Run(result.folders[0]))
    score, chance = mean(seeds.values), drawn + _seed_noise([seeds], len(drawn))
    low, high = (score + float(np.quantile(chance, q)) for q in QUANTILES)
    low, high = max(low, min(0.0, *seeds.values)), min(high, MAX_SCORE)
    return ArchitectureResult(
        result.name,
        result.params,
        outside,
        parameters,
        tuple(seeds.values),
        low,
        high,
        result.seed_summaries,
        result.folders,
    )


def _test_pairs(seeds: Mapping[str, SeedScores], drawn: Mapping[str, FloatArray]) -> list[ArchitectureTest]:
    """Every two architectures, the better one first."""
    pairs: dict[tuple[str, str], tuple[float, FloatArray, float]] = {}
    for one, other in itertools.combinations(seeds, 2):
        first, second = (one, other) if mean(seeds[one].values) >= mean(seeds[other].values) else (other, one)
        difference = mean(seeds[first].values) - mean(seeds[second].values)
        chance = drawn[first] - drawn[second] + _seed_noise([seeds[first], seeds[second]], len(drawn[first]))
        reached = int(np.count_nonzero(np.abs(chance) >= difference - TIE))
        pairs[first, second] = difference, chance, (reached + 1) / (len(chance) + 1)
    adjusted = holm_correction({pair: p for pair, (_, _, p) in pairs.items()})
    tests = []
    for (first, second), (difference, chance, p) in pairs.items():
        low, high = (difference + float(np.quantile(chance, q)) for q in QUANTILES)
        tests.append(ArchitectureTest(first, second, difference, low, high, p, adjusted[first, second]))
    return tests


def _seed_noise(samples: Sequence[SeedScores], count: int) -> FloatArray:
    """Draws of what chance in the seeds adds to a sum or difference of means: Student's t."""
    freedom = sum(len(one.values) - 1 for one in samples)
    if not freedom:
        return np.zeros(count)
    deviation = sum(one.seed_variance for one in samples) ** 0.5
    return deviation * np.random.default_rng(SEED).standard_t(freedom, count)
