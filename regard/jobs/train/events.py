"""The events of a long job. Jobs yield them as they happen; the command line shows them."""

from dataclasses import dataclass

from regard.evaluation import Evaluation
from regard.run import Run
from regard.training.loop import Step
from regard.training.validate import Validation


@dataclass(frozen=True)
class Note:
    """Information for the user."""

    text: str


@dataclass(frozen=True)
class Alarm:
    """A warning that training goes wrong, with a remedy."""

    text: str


@dataclass(frozen=True)
class TrainingStarted:
    """Training starts or resumes."""

    step: int
    last_step: int | None
    parameters: int


@dataclass(frozen=True)
class TrainingProgress:
    """An optimizer step was taken."""

    step: Step
    fraction: float
    seconds_left: float


@dataclass(frozen=True)
class ValidationFinished:
    """The model was validated on the dev set."""

    result: Validation
    is_best: bool


@dataclass(frozen=True)
class TrainingInterrupted:
    """Training was stopped on request; everything is saved."""

    run: Run
    step: int


@dataclass(frozen=True)
class TrainingFinished:
    """Training has ended and the model was scored."""

    run: Run
    step: int
    set_name: str
    evaluation: Evaluation


TrainingEvent = (
    Note | Alarm | TrainingStarted | TrainingProgress | ValidationFinished | TrainingInterrupted | TrainingFinished
)
