"""The events of a long job. Jobs yield them as they happen; the command line shows them."""

from dataclasses import dataclass
from typing import Any, Literal

from regard.config import Config
from regard.data.doctor import Diagnosis
from regard.run import Run
from regard.training.loop import Step
from regard.training.planning.estimate import TrainingEstimate
from regard.training.planning.sizing import SuggestedSetting
from regard.training.validate import Validation

TrainingEnd = Literal["steps", "time", "patience"]
"""Why training has ended: after its last step, at the end of its time, or since dev did not improve any more."""


@dataclass(frozen=True)
class Note:
    """Information for the user."""

    text: str


@dataclass(frozen=True)
class Alarm:
    """A warning that training goes wrong, with a remedy."""

    text: str


@dataclass(frozen=True)
class DataPlan:
    """What a run is trained, validated and tested on."""

    pairs: dict[str, int]
    """The number of pairs of train, dev and test, as far as there are such."""
    held_out: tuple[str, ...]
    """The sets that were held out of the training files."""
    source: str
    target: str
    diagnosis: Diagnosis | None
    """What the doctor has found; None if it was not stored."""
    too_long: int
    """Training pairs that are skipped, because a side has too many tokens."""


@dataclass(frozen=True)
class ComputePlan:
    """On what a run is trained."""

    device: str
    threads: int
    thread_reason: str
    processes: int
    precision: str
    padding_free: bool
    available_memory: int
    """Bytes; 0 if unknown."""


@dataclass(frozen=True)
class TrainingPlan:
    """What will be trained, on what, and how long that takes: known before the first step."""

    config: Config
    data: DataPlan
    vocab_size: int
    estimate: TrainingEstimate
    compute: ComputePlan
    choices: tuple[SuggestedSetting, ...]
    """The settings that were chosen, because the user has not set them; empty for a run that is resumed."""
    preparation_seconds: float


@dataclass(frozen=True)
class TrainingStarted:
    """Training starts or resumes."""

    step: int
    last_step: int | None
    parameters: int
    unit: str = "token"
    """What is predicted, and counted for the speed: token, text, word."""


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
    evaluation: Any
    end: TrainingEnd
    epochs: float
    """With the fraction of the last one."""
    seconds: float
    """Of training so far, earlier sessions included."""
    validation: Validation | None
    """The validation of the last step."""
    earlier_loss: float | None
    """The lowest dev loss of earlier validations in this session; None if there were none."""
    unigram_loss: float
    """Dev loss of a unigram model, which knows only the frequency of each token."""


TrainingEvent = (
    Note
    | Alarm
    | TrainingPlan
    | TrainingStarted
    | TrainingProgress
    | ValidationFinished
    | TrainingInterrupted
    | TrainingFinished
)
