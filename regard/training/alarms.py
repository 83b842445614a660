"""Signs that training goes wrong, each with a remedy. An alarm is a function of the history of validations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regard.training.validate import Validation

CONSECUTIVE_RISES = 3  # validations in a row in which the dev loss must rise
SLOW_SECONDS = 120.0
FEW_STEPS = 2000
"""Steps below which even a good model may not translate yet."""
SETTLED_EPOCHS, SETTLED_STEPS = 3, 200
"""Epochs, with a minimum of steps, after which a model that ignores its source will hardly begin to use it."""


@dataclass(frozen=True)
class AlarmWords:
    """What a task calls its parts; unset, those of a decoder that has a source."""

    unigram: str = "a unigram model, which knows only the frequency of each token"
    """The model that knows nothing of the input."""
    ignores: str = "ignores its source: with the sources of other sentences"
    check: str = "the two sides are aligned"
    """What is wrong with data whose inputs tell nothing."""
    model: str = "the decoder"
    """What ignores its inputs."""


@dataclass(frozen=True)
class TrainingHistory:
    """What is known at a validation."""

    validations: Sequence[Validation]
    """All validations so far, the newest last."""
    train_losses: Sequence[float]
    """The mean training loss before each of them."""
    unigram_loss: float
    """The dev loss of a unigram model, which knows only the frequency of each token."""
    warmed_up: bool
    """Whether the learning rate reached its peak long enough ago to expect progress."""
    words: AlarmWords = AlarmWords()

    @property
    def latest(self) -> Validation:
        return self.validations[-1]


def had_steps_to_learn(steps: int, epochs: float, warmup: int) -> bool:
    """Whether a model that does not work has failed to learn; otherwise it was not trained long enough."""
    enough = steps >= FEW_STEPS or (epochs >= SETTLED_EPOCHS and steps >= SETTLED_STEPS)
    return enough and steps >= 2 * warmup


def check_unigram_loss(history: TrainingHistory) -> str:
    """Nothing was learned from context."""
    if not history.warmed_up or history.latest.loss < 0.98 * history.unigram_loss:
        return ""
    return (
        f"the dev loss {history.latest.loss:.2f} is no better than the {history.unigram_loss:.2f} of "
        f"{history.words.unigram}. Halve train.learning_rate, double train.warmup, and use "
        f"model.norm=pre."
    )


def check_source_use(history: TrainingHistory) -> str:
    """The decoder does not depend on its source: the sources of other sentences would do as well."""
    validation = history.latest
    if not history.warmed_up or validation.shuffled_input_loss is None or validation.loss >= history.unigram_loss:
        return ""
    if validation.shuffled_input_loss - validation.loss > 0.02 * validation.loss:
        return ""
    return (
        f"{history.words.model} {history.words.ignores} the dev loss is {validation.shuffled_input_loss:.2f} instead "
        f"of {validation.loss:.2f}. Check that {history.words.check} (`regard doctor`); then lower "
        f"train.learning_rate or lengthen train.warmup."
    )


def check_repetition(history: TrainingHistory) -> str:
    """Different sources get the same translation."""
    validation = history.latest
    if not history.warmed_up or validation.distinct_ratio is None or validation.distinct_ratio > 0.2:
        return ""
    start = "The model has collapsed: l" if validation.step >= FEW_STEPS else "If this persists, l"
    return (
        f"only {validation.distinct_ratio:.0%} of the translations of different dev sentences differ. {start}ower "
        f"train.learning_rate or lengthen train.warmup."
    )


def check_overfitting(history: TrainingHistory) -> str:
    """The dev loss rises while the training loss falls."""
    dev_losses = [validation.loss for validation in history.validations[-CONSECUTIVE_RISES - 1 :]]
    train_losses = list(history.train_losses[-CONSECUTIVE_RISES - 1 :])
    if len(dev_losses) <= CONSECUTIVE_RISES or dev_losses != sorted(dev_losses) or train_losses[-1] >= train_losses[0]:
        return ""
    return (
        f"the dev loss rose in {CONSECUTIVE_RISES} validations, from {dev_losses[0]:.3f} to {dev_losses[-1]:.3f}, "
        f"while the training loss fell: the model overfits. Raise model.dropout, use data.subword_regularization=0.1, "
        f"or make the model smaller. The best checkpoint so far is kept."
    )


ALARMS: dict[str, Callable[[TrainingHistory], str]] = {
    "above the unigram loss": check_unigram_loss,
    "ignores its source": check_source_use,
    "same output": check_repetition,
    "overfits": check_overfitting,
}


@dataclass
class TrainingMonitor:
    """Raises the alarms of each validation, each alarm once."""

    unigram_loss: float
    warmup: int
    validations: list[Validation] = field(default_factory=list)
    train_losses: list[float] = field(default_factory=list)
    reported_alarms: set[str] = field(default_factory=set)
    words: AlarmWords = AlarmWords()

    def update(self, validation: Validation, train_loss: float) -> list[str]:
        """New alarms after a validation, given the mean training loss before it."""
        self.validations.append(validation)
        self.train_losses.append(train_loss)
        history = TrainingHistory(
            self.validations, self.train_losses, self.unigram_loss, validation.step >= 2 * self.warmup, self.words
        )
        messages = {name: alarm(history) for name, alarm in ALARMS.items() if name not in self.reported_alarms}
        new_messages = {name: text for name, text in messages.items() if text}
        self.reported_alarms |= new_messages.keys()
        return list(new_messages.values())


@dataclass
class ThroughputMonitor:
    """Detects when steps have been far slower than expected for minutes."""

    expected_tokens_per_second: float
    """Targets per second."""
    unit: str = "token"
    slow_seconds: float = 0.0
    reported: bool = False

    def update(self, tokens: int, seconds: float) -> str:
        """An alarm after a step of this many target tokens and seconds, or an empty text."""
        is_slow = self.expected_tokens_per_second > 0 and tokens / seconds < self.expected_tokens_per_second / 3
        self.slow_seconds = self.slow_seconds + seconds if is_slow else 0.0
        if self.reported or self.slow_seconds < SLOW_SECONDS:
            return ""
        self.reported = True
        return (
            f"for {self.slow_seconds / 60:.0f} minutes training has run at less than a third of the expected "
            f"{self.expected_tokens_per_second:,.0f} {self.unit}s per second. Check whether other programs use this "
            f"machine, or lower train.batch_tokens if memory is short."
        )
