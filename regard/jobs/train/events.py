"""What a long job tells whoever runs it, as it goes. Jobs yield these; doors show them."""

from dataclasses import dataclass

from regard.evaluation import Evaluation
from regard.run import Run
from regard.training.loop import Step
from regard.training.validate import Validation


@dataclass(frozen=True)
class Note:
    """Something people should know."""

    text: str


@dataclass(frozen=True)
class Alarm:
    """Something goes wrong, and what to change."""

    text: str


@dataclass(frozen=True)
class TrainingStarted:
    """Training begins, or goes on."""

    step: int
    last_step: int | None
    parameters: int


@dataclass(frozen=True)
class TrainingProgress:
    """An update was made."""

    step: Step
    fraction: float
    seconds_left: float


@dataclass(frozen=True)
class ValidationFinished:
    """The dev set was looked at."""

    result: Validation
    is_best: bool


@dataclass(frozen=True)
class TrainingInterrupted:
    """Training was stopped on request; everything is saved."""

    run: Run
    step: int


@dataclass(frozen=True)
class TrainingFinished:
    """Training is over and the model was scored."""

    run: Run
    step: int
    set_name: str
    evaluation: Evaluation


TrainingEvent = (
    Note | Alarm | TrainingStarted | TrainingProgress | ValidationFinished | TrainingInterrupted | TrainingFinished
)
