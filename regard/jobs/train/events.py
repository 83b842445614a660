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
class Started:
    """Training begins, or goes on."""

    step: int
    last_step: int | None
    parameters: int


@dataclass(frozen=True)
class Progress:
    """An update was made."""

    step: Step
    progress: float
    seconds_left: float


@dataclass(frozen=True)
class Checked:
    """The dev set was looked at."""

    check: Validation
    best: bool


@dataclass(frozen=True)
class Interrupted:
    """Training was stopped on request; everything is saved."""

    run: Run
    step: int


@dataclass(frozen=True)
class Finished:
    """Training is over and the model was scored."""

    run: Run
    step: int
    set_name: str
    evaluation: Evaluation


Event = Note | Alarm | Started | Progress | Checked | Interrupted | Finished
