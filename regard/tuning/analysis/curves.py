"""Learning curves of runs, read from their logs."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.jobs.train.epochs import count_epoch_batches
from regard.run import Run
from regard.training import log
from regard.training.loop import Step
from regard.tuning.study import Study

TARGETS = "targets"
"""What the loss is averaged over: tokens, texts, words. A unit of curves, beside steps, minutes and epochs."""
MIN_LOSS_RISE = 0.02  # nats: smaller rises of the dev loss are no overfitting


@dataclass(frozen=True)
class CurvePoint:
    """A training step or a validation."""

    x: float
    """Steps, minutes, epochs or targets since the start."""
    loss: float
    accuracy: float
    """In percent."""
    score: float | None = None
    """Of the predictions in a validation."""


@dataclass(frozen=True)
class LossCurve:
    """Training loss and dev loss at the validations of a run."""

    x: Sequence[float]
    train_loss: Sequence[float]
    dev_loss: Sequence[float]


@dataclass(frozen=True)
class LogCurves:
    """The log of a run, over steps, minutes, epochs or targets."""

    steps: list[CurvePoint]
    validations: list[CurvePoint]
    score_name: str = ""
    """What predictions were scored by; empty where they were not."""

    def loss_curve(self) -> LossCurve:
        """Both losses at each validation; the training loss is averaged since the validation before."""
        train: list[float] = []
        start = 0
        for validation in self.validations:
            since = [step.loss for step in self.steps[start:] if step.x <= validation.x]
            start += len(since)
            train.append(sum(since) / len(since) if since else (train[-1] if train else float("nan")))
        return LossCurve([point.x for point in self.validations], train, [point.loss for point in self.validations])


def curve_unit(study: Study) -> str:
    """The x-axis of curves: the unit of the budget that is equal for all trials."""
    return "epochs" if study.each.epochs else "minutes" if study.each.minutes else "steps"


def read_log_curves(run: Run, unit: str) -> LogCurves | None:
    """The curves of a run over `unit`; None if it has no log."""
    if not run.log.exists():
        return None
    records = list(log.read(run.log))
    log_steps = [record for record in records if isinstance(record, Step)]
    epoch_length = count_epoch_batches(run, log_steps) if unit == "epochs" else 1
    x_of_steps: dict[int, float] = {}
    validations: list[CurvePoint] = []
    seconds, epochs, number, targets, score_name = 0.0, 0.0, 0, 0, ""
    for record in records:
        seconds += record.seconds
        if isinstance(record, Step):
            epochs, number = record.data_position.epoch + record.data_position.batch / epoch_length, record.number
            targets += record.tokens
        else:
            number = record.step
        x = {"epochs": epochs, "minutes": seconds / 60, "steps": float(number), TARGETS: float(targets)}[unit]
        if isinstance(record, Step):
            x_of_steps[record.number] = x
        else:
            score = record.score.value if record.score else None
            score_name = record.score.name if record.score else score_name
            validations.append(CurvePoint(x, record.loss, 100 * record.accuracy, score))
    steps = [CurvePoint(x_of_steps[one.number], one.loss, 100 * one.accuracy) for one in log.pool_steps(records)]
    return LogCurves(steps, validations, score_name)


def find_turning_point(curve: LossCurve) -> tuple[float, float] | None:
    """Where the dev loss was lowest and how far it rose from there, if it rose while the training loss fell."""
    if len(curve.dev_loss) < 3:
        return None
    low = min(range(len(curve.dev_loss)), key=lambda n: curve.dev_loss[n])
    rise = curve.dev_loss[-1] - curve.dev_loss[low]
    falls = curve.train_loss[-1] < curve.train_loss[low]
    return (curve.x[low], rise) if rise > MIN_LOSS_RISE and falls else None
