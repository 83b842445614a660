"""Whether a model works, by its validations and its predictions, and the alarms of its training."""

from collections.abc import Sequence

from regard.config import Config
from regard.jobs.tasks.task import Task, TaskEvaluation
from regard.run import Run
from regard.training import alarms
from regard.training.loop import Step
from regard.training.validate import Validation


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


def had_steps_to_learn(run: Run, steps: int, epochs: float, validations: Sequence[Validation]) -> bool:
    """Whether a run was long enough to learn, or dev had stopped improving before its end."""
    train = (run.load_config() if run.config.exists() else Config()).train
    costs = [one.loss if one.score is None else one.cost(train.metric) for one in validations]
    since_best = len(costs) - 1 - costs.index(min(costs)) if costs else 0
    return (0 < train.patience <= since_best) or alarms.had_steps_to_learn(steps, epochs, train.warmup)


def diagnose_collapse(
    task: Task, validation: Validation | None, unigram: float | None, evaluation: TaskEvaluation | None
) -> str:
    """Why a model does not work, with numbers; empty if it works."""
    if validation is None:
        return ""
    words, predictions = task.alarm_words, task.prediction_words
    failure = task.describe_failure(evaluation) if evaluation else None
    reasons = []
    if unigram is not None:
        history = alarms.TrainingHistory([validation], [0.0], unigram, warmed_up=True)
        if failure != "" and alarms.check_unigram_loss(history):  # a model that is right, but too sure, works
            reasons.append(
                f"its dev loss of {validation.loss:.2f} is no better than the {unigram:.2f} of {words.unigram}"
            )
        shuffled_loss = validation.shuffled_input_loss
        if shuffled_loss is not None and shuffled_loss - validation.loss <= 0.02 * validation.loss:
            reasons.append(f"it {words.ignores} its dev loss is {shuffled_loss:.2f} instead of {validation.loss:.2f}")
        if alarms.check_repetition(history):
            reasons.append(
                f"only {validation.distinct_ratio or 0:.0%} of its {predictions.answers} of different dev "
                f"{predictions.input}s are distinct"
            )
    return "; ".join(reasons) or failure or ""


def replay_alarms(
    records: Sequence[Step | Validation], unigram_loss: float, warmup: int, words: alarms.AlarmWords
) -> list[tuple[int, str]]:
    """The step and the text of every alarm that the log of a training gives rise to."""
    monitor = alarms.TrainingMonitor(unigram_loss, warmup, words=words)
    raised: list[tuple[int, str]] = []
    losses: list[float] = []
    for record in records:
        if isinstance(record, Step):
            losses.append(record.loss)
        else:
            mean_loss = sum(losses) / len(losses) if losses else record.loss
            raised += [(record.step, text) for text in monitor.update(record, mean_loss)]
            losses = []
    return raised
