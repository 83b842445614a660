"""Measurements of a run: dev scores, cost, and whether the model works."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from regard.config import TrainConfig
from regard.errors import RunError
from regard.evaluation import METRICS, Evaluation
from regard.jobs.tasks.registry import task_of
from regard.jobs.train.epochs import count_epoch_batches
from regard.run import Run
from regard.training import alarms, log
from regard.training.loop import Step
from regard.training.validate import Validation

COLLAPSED, UNDERTRAINED = "collapsed", "not trained long enough"
SCORED_METRICS = {name: METRICS[name] for name in ("bleu", "chrf", "ter")}


@dataclass(frozen=True)
class RunSummary:
    """A run in numbers. `scores` are those on dev: metric -> {value, low, high, signature}."""

    parameters: int
    steps: int
    epochs: float
    minutes: float
    tokens_per_second: float
    """Target tokens per second of training."""
    loss: float | None
    unigram_loss: float | None = None
    """Dev loss of a unigram model, which knows only the frequency of each token."""
    shuffled_input_loss: float | None = None
    """Dev loss with the sources of other sentences."""
    scores: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pads_counted: Mapping[str, float] | None = None
    """Accuracy and loss with padding included, as in `evaluation.PadInclusiveScores`."""
    collapse_reason: str = ""
    """Why the model does not work; empty if it works."""
    had_steps_to_learn: bool = True
    """Otherwise a model that does not work has not collapsed: it was not trained long enough."""
    decoding_seconds: float | None = None
    """Seconds per dev sentence of greedy decoding: the median over validations."""

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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def evaluate_trial_run(run: Run, max_sentences: int, device: str = "auto") -> RunSummary:
    """Translate dev with the best weights, score it, and check whether the model has collapsed."""
    config = run.load_config()
    task = task_of(config)
    data = task.open_data(run, config)
    stride = -(-len(data.dev) // max_sentences)
    pairs = data.dev.pairs()[::stride]  # spread over dev, the same for every trial
    evaluation = task.evaluate(run, task.load_predictor(run.folder, device), pairs)
    task.write_scores(run, "dev", evaluation)
    return summarize_run(run, evaluation, task.baseline_loss(config, data))


def summarize_log(run: Run) -> RunSummary:
    """The summary of a run that was stopped early, from its log alone."""
    return summarize_run(run, None, None)


def summarize_run(run: Run, evaluation: Evaluation | None, unigram: float | None) -> RunSummary:
    """The log of a run combined with its scores."""
    steps, validations = log.read_steps(run.log), log.read_validations(run.log)
    if not steps:
        raise RunError(f"{run.folder}: the log has no training step; train the run first")
    seconds = sum(step.seconds for step in steps)
    validation = find_best_validation(run, validations)
    loss = evaluation.loss if evaluation else None
    pads_counted = getattr(evaluation, "pads_counted", None)  # of translations alone
    decoding_times = [one.seconds_per_prediction for one in validations if one.seconds_per_prediction]
    epochs = _count_epochs(steps, count_epoch_batches(run, steps))
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
        collapse_reason=diagnose_collapse(validation, unigram, evaluation),
        had_steps_to_learn=_had_steps_to_learn(run, len(steps), epochs, validations),
        decoding_seconds=median(decoding_times) if decoding_times else None,
    )


def _collect_scores(evaluation: Evaluation | None, validation: Validation | None) -> dict[str, dict[str, Any]]:
    """The scores of an evaluation; without one, those of a validation."""
    if evaluation is not None:
        return {name: score.as_dict() for name, score in evaluation.scores.items()}
    if validation is None:
        return {}
    accuracy = {"accuracy": {"value": 100 * validation.accuracy}}
    score = validation.score
    return accuracy | ({score.name.lower().replace("-", "_"): score.as_dict()} if score else {})


def find_best_validation(run: Run, validations: Sequence[Validation]) -> Validation | None:
    """The validation of the best weights, which translate; the last one may be of weights that are not used.

    The log has no validation of averaged weights. Then the best validation stands in, although the average is better.
    """
    best = run.read_best() if run.best.exists() else None
    same_step = [one for one in validations if best and one.step == best.step]
    if best and same_step and best.weights != run.average_weights.name:
        return same_step[-1]
    metric = best.metric if best and all(one.score for one in validations) else "loss"
    return min(validations, key=lambda one: one.cost(metric), default=None)


def _had_steps_to_learn(run: Run, steps: int, epochs: float, validations: Sequence[Validation]) -> bool:
    """Whether a run was long enough to learn, or dev had stopped improving before its end."""
    train = run.load_config().train if run.config.exists() else TrainConfig()
    costs = [one.loss if one.score is None else one.cost(train.metric) for one in validations]
    since_best = len(costs) - 1 - costs.index(min(costs)) if costs else 0
    return (0 < train.patience <= since_best) or alarms.had_steps_to_learn(steps, epochs, train.warmup)


def diagnose_collapse(validation: Validation | None, unigram: float | None, evaluation: Evaluation | None) -> str:
    """Why a model does not work, with numbers; empty if it works."""
    if validation is None:
        return ""
    reasons = []
    if unigram is not None:
        history = alarms.TrainingHistory([validation], [0.0], unigram, warmed_up=True)
        if alarms.check_unigram_loss(history):
            reasons.append(
                f"its dev loss of {validation.loss:.2f} is no better than the {unigram:.2f} of a unigram model, "
                f"which knows only the frequency of each token"
            )
        shuffled_loss = validation.shuffled_input_loss
        if shuffled_loss is not None and shuffled_loss - validation.loss <= 0.02 * validation.loss:
            reasons.append(
                f"it ignores its source: with the sources of other sentences its dev loss is {shuffled_loss:.2f} "
                f"instead of {validation.loss:.2f}"
            )
        if alarms.check_repetition(history):
            reasons.append(
                f"only {validation.distinct_ratio or 0:.0%} of its translations of different dev sentences are distinct"
            )
    if evaluation and "bleu" in evaluation.scores:
        bleu, chance = evaluation.scores["bleu"], evaluation.baselines.shuffled_translations
        if not evaluation.baselines.is_below(bleu) and not reasons:
            reasons.append(
                f"its BLEU of {bleu.value:.1f} is no better than the {chance.value:.1f} of shuffled translations"
            )
    return "; ".join(reasons)


def count_parameters(run: Run) -> int:
    """The number of parameters of a run, read from the header of its weights file."""
    from regard.model.weights import read_shapes

    if not run.best.exists() and not run.saved_steps():
        raise RunError(f"{run.folder}: has no weights")
    path = run.best_weights() if run.best.exists() else run.weights(run.saved_steps()[-1])
    return sum(map(math.prod, read_shapes(path).values()))


def _count_epochs(steps: Sequence[Step], epoch_batches: int) -> float:
    """Epochs with a fraction."""
    position = steps[-1].data_position
    return float(position.epoch + position.batch / epoch_batches)
