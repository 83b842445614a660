"""What a study tells whoever runs it, as it goes."""

from dataclasses import dataclass

from regard.jobs.train.events import TrainingEvent
from regard.tuning.results import Result
from regard.tuning.space import Point


@dataclass(frozen=True)
class Planned:
    """The study is ready: what is to be tried, and what is known of it already."""

    name: str
    metric: str
    trials: tuple[Result, ...]


@dataclass(frozen=True)
class Began:
    """A trial is ours; `again` if somebody had begun it before."""

    number: int
    name: str
    point: Point
    again: bool


@dataclass(frozen=True)
class Went:
    """Something happened inside a trial."""

    number: int
    seed: int
    event: TrainingEvent


@dataclass(frozen=True)
class Ended:
    """A trial is over."""

    result: Result


@dataclass(frozen=True)
class Idle:
    """Nothing is free, but others are still at work."""

    trials: int


@dataclass(frozen=True)
class Stopped:
    """Somebody stopped us; the trial waits for whoever comes next."""

    number: int


@dataclass(frozen=True)
class Done:
    """Every trial is over."""

    trials: tuple[Result, ...]


Happening = Planned | Began | Went | Ended | Idle | Stopped | Done
