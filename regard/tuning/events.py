"""What a study tells whoever runs it, as it goes."""

from dataclasses import dataclass

from regard.jobs.train.events import TrainingEvent
from regard.tuning.results import TrialResult
from regard.tuning.space import Params


@dataclass(frozen=True)
class StudyStarted:
    """The study is ready: what is to be tried, and what is known of it already."""

    name: str
    metric: str
    trials: tuple[TrialResult, ...]


@dataclass(frozen=True)
class TrialStarted:
    """A trial is ours; `again` if somebody had begun it before."""

    number: int
    name: str
    params: Params
    resumed: bool


@dataclass(frozen=True)
class TrialEvent:
    """Something happened inside a trial."""

    number: int
    seed_index: int
    event: TrainingEvent


@dataclass(frozen=True)
class TrialFinished:
    """A trial is over."""

    result: TrialResult


@dataclass(frozen=True)
class WorkerIdle:
    """Nothing is free, but others are still at work."""

    running_trials: int


@dataclass(frozen=True)
class TrialInterrupted:
    """Somebody stopped us; the trial waits for whoever comes next."""

    number: int


@dataclass(frozen=True)
class StudyFinished:
    """Every trial is over."""

    trials: tuple[TrialResult, ...]


StudyEvent = StudyStarted | TrialStarted | TrialEvent | TrialFinished | WorkerIdle | TrialInterrupted | StudyFinished
