"""Measurements of a run: dev scores, cost, and whether the model works."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from regard import config as settings
from regard.config import Config
from regard.errors import RunError
from regard.evaluation import METRICS
from regard.jobs.tasks.registry import task_of
from regard.jobs.tasks.reporting.diagnosis import diagnose_collapse, find_best_validation, had_steps_to_learn
from regard.jobs.tasks.task import TaskEvaluation
from regard.jobs.train.epochs import count_epochs
from regard.metrics import Score
from regard.run import Run
from regard.training import log
from regard.training.validate import Validation

COLLAPSED, UNDERTRAINED = "collapsed", "not trained long enough"
MACHINE_SETTINGS = ("train.device", "train.threads", "train.track", "train.track_histograms")
"""Settings that no score depends on."""
SCORED_METRICS = {name: METRICS[name] for name in ("bleu", "chrf", "ter")}


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers. `scores` are those on dev: metric -> {name, value, low, high, signature}."""

    parameters: int
    steps: int
    epochs: float
    minutes: float
    tokens_per_second: float
    """Targets per second of training: target tokens, texts, words …"""
    loss: float | None
    unigram_loss: float | None = None
    """Dev loss of a model that knows only the frequency of each target."""
    shuffled_input_loss: float | None = None
    """Dev loss where each example has the input of another."""
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pads_counted: Mapping[str, float] | None = None
    """Accuracy and loss with padding included, as in `evaluation.PadInclusiveScores`."""
    collapse_reason: str = ""
    """Why the model does not work; empty if it works."""
    had_steps_to_learn: bool = True
    """Otherwise a model that does not work has not collapsed: it was not trained long enough."""
    decoding_seconds: float | None = None
    """Seconds per prediction for dev: the median over validations."""

    @property
    def diagnosis(self) -> str:
        """What is wrong with a model that does not work, in words; empty if it works."""
        if not self.collapse_reason:
            return ""
        return COLLAPSED if self.had_steps_to_learn else UNDERTRAINED

    def value(self, metric: str) -> float | None:
        if metric == "loss":
            return self.loss
        return float(self.scores[metric]["value"]) if metric in self.scores else None

    def find_score(self, name: str) -> float | None:
        """The value of the score with this name."""
        return next((float(score["value"]) for score in self.scores.values() if score.get("name") == name), None)

    def name_score(self, metric: str) -> str:
        """The name of a score; empty where it is not known."""
        return str(self.scores.get(metric, {}).get("name", ""))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class RunFacts:
    """What is known of a system that may be a run: its size, its settings, and whether it works."""

    name: str
    run: Run | None
    summary: RunSummary | None
    """Cost of its training; None for a file of predictions."""

    @cached_property
    def parameters(self) -> int | None:
        """Number of parameters; None for a file of predictions."""
        return count_parameters(self.run) if self.run else None

    @cached_property
    def settings(self) -> Mapping[str, Any] | None:
        """Every setting by its dotted name; None where they are not known."""
        if self.run is None or not self.run.config.exists():
            return None
        return settings.flatten(self.run.load_config().model_dump(mode="json"))

    @property
    def collapse_reason(self) -> str:
        return self.summary.collapse_reason if self.summary else ""

    @property
    def diagnosis(self) -> str:
        """What is wrong with a model that does not work; empty if it works, and for a file of predictions."""
        return self.summary.diagnosis if self.summary else ""


@dataclass(frozen=True)
class TrainedSystem(RunFacts):
    """A system by its training alone."""

    name: str
    run: Run | None = None
    summary: RunSummary | None = None


def find_differing_settings(systems: Sequence[RunFacts]) -> dict[str, dict[str, Any]]:
    """The settings that differ between runs: by name, and then by system. None of them where only one is known."""
    known = {system.name: values for system in systems if (values := system.settings) is not None}
    names = dict.fromkeys(name for values in known.values() for name in values)
    differing = {name: {system: values.get(name) for system, values in known.items()} for name in names}
    return {
        name: values
        for name, values in differing.items()
        if name not in MACHINE_SETTINGS and any(value != next(iter(values.values())) for value in values.values())
    }


def evaluate_trial_run(run: Run, max_examples: int, device: str = "auto") -> RunSummary:
    """Predict for dev with the best weights, score that, and check whether the model has collapsed."""
    config = run.load_config()
    task = task_of(config)
    data = task.open_data(run, config)
    pairs = task.select_dev(data, max_examples)
    evaluation = task.evaluate(run, task.load_predictor(run.folder, device), pairs, "dev")
    task.write_scores(run, "dev", evaluation)
    return summarize_run(run, evaluation, task.baseline_loss(config, data))


def summarize_log(run: Run) -> RunSummary:
    """The summary of a run that was stopped early, from its log alone."""
    return summarize_run(run, None, None)


def summarize_training(run: Run, evaluation: TaskEvaluation | None = None) -> RunSummary | None:
    """The summary of a run, with its scores on a test set; None if it has no log of training, as an imported run."""
    if not log.read_steps(run.log):
        return None
    config = run.load_config()
    task = task_of(config)
    has_data = run.tokens_manifest.exists()
    unigram = task.baseline_loss(config, task.open_data(run, config)) if has_data else None
    return summarize_run(run, evaluation, unigram)


def summarize_run(run: Run, evaluation: TaskEvaluation | None, unigram: float | None) -> RunSummary:
    """The log of a run combined with its scores; `unigram` is the loss of a model that ignores its inputs."""
    task = task_of(run.load_config() if run.config.exists() else Config())
    steps, validations = log.read_steps(run.log), log.read_validations(run.log)
    if not steps:
        raise RunError(f"{run.folder}: the log has no training step; train the run first")
    seconds = sum(step.seconds for step in steps)
    validation = find_best_validation(run, validations)
    loss = evaluation.loss if evaluation else None
    pads_counted = getattr(evaluation, "pads_counted", None)  # of translations alone
    decoding_times = [one.seconds_per_prediction for one in validations if one.seconds_per_prediction]
    epochs = count_epochs(run, steps)
    return RunSummary(
        parameters=count_parameters(run),
        steps=len(steps),
        epochs=round(epochs, 2),
        minutes=(seconds + sum(one.seconds for one in validations)) / 60,
        tokens_per_second=sum(step.tokens for step in steps) / seconds,
        loss=loss if loss is not None else validation.loss if validation else None,
        unigram_loss=unigram,
        shuffled_input_loss=validation.shuffled_input_loss if validation else None,
        scores=_collect_scores(evaluation, validation),
        pads_counted=asdict(pads_counted) if pads_counted else None,
        collapse_reason=diagnose_collapse(task, validation, unigram, evaluation),
        had_steps_to_learn=had_steps_to_learn(run, len(steps), epochs, validations),
        decoding_seconds=median(decoding_times) if decoding_times else None,
    )


def _collect_scores(evaluation: TaskEvaluation | None, validation: Validation | None) -> dict[str, dict[str, Any]]:
    """The scores of an evaluation; without one, those of a validation."""
    if evaluation is not None:
        return {key: _to_table(score) for key, score in evaluation.scores.items()}
    if validation is None:
        return {}
    accuracy = {"accuracy": {"value": 100 * validation.accuracy}}
    score = validation.score
    return accuracy | ({re.sub(r"\W", "_", score.name.lower()): _to_table(score)} if score else {})


def _to_table(score: Score) -> dict[str, Any]:
    return {"name": score.name, **score.as_dict()}


def count_parameters(run: Run) -> int:
    """The number of parameters of a run, read from the header of its weights file."""
    from regard.model.weights import read_shapes

    if not run.best.exists() and not run.saved_steps():
        raise RunError(f"{run.folder}: has no weights")
    path = run.best_weights() if run.best.exists() else run.weights(run.saved_steps()[-1])
    return sum(map(math.prod, read_shapes(path).values()))
