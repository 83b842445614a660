"""Events of a study, yielded while it runs."""

from dataclasses import dataclass

from regard.jobs.train.events import TrainingEvent
from regard.tuning.results import TrialResult
from regard.tuning.space import Params


@dataclass(frozen=True)
class StudyStarted:
    """The study is open; `trials` has the results of earlier sessions."""

    name: str
    metric: str
    """What the trials are ranked by."""
    score: str
    """What predictions for dev are scored by in validations; empty where there are none."""
    trials: tuple[TrialResult, ...]
    digits: int = 2
    """Decimal places of the metric that people read."""


@dataclass(frozen=True)
class TrialStarted:
    """This worker has claimed a trial; `resumed` if it was started before."""

    number: int
    name: str
    params: Params
    resumed: bool


@dataclass(frozen=True)
class TrialEvent:
    """An event of the training inside a trial."""

    number: int
    seed_index: int
    event: TrainingEvent


@dataclass(frozen=True)
class TrialFinished:
    """A trial has ended."""

    result: TrialResult


@dataclass(frozen=True)
class WorkerIdle:
    """No trial is free, but other workers are running some."""

    running_trials: int


@dataclass(frozen=True)
class TrialInterrupted:
    """The worker was stopped; the trial is free for the next one."""

    number: int


@dataclass(frozen=True)
class StudyFinished:
    """Every trial has ended."""

    trials: tuple[TrialResult, ...]


StudyEvent = StudyStarted | TrialStarted | TrialEvent | TrialFinished | WorkerIdle | TrialInterrupted | StudyFinished
