"""Signs that training goes wrong, each with what to change. An alarm is a function of what was seen so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regard.training.validate import Validation

CONSECUTIVE_RISES = 3  # checks in a row that dev must get worse before it counts
SLOW_SECONDS = 120.0


@dataclass(frozen=True)
class TrainingHistory:
    """What there is to judge by at a check."""

    validations: Sequence[Validation]
    """All checks so far, the newest last."""
    train_losses: Sequence[float]
    """The mean training loss before each of them."""
    unigram_loss: float
    """The dev loss of a model that knows nothing but how frequent each piece is."""
    warmed_up: bool
    """Whether the rate has reached its peak long enough ago to expect something."""

    @property
    def latest(self) -> Validation:
        return self.validations[-1]


def above_unigram(history: TrainingHistory) -> str:
    """Nothing was learnt from context at all."""
    if not history.warmed_up or history.latest.loss < 0.98 * history.unigram_loss:
        return ""
    return (
        f"dev loss {history.latest.loss:.2f} is no better than the {history.unigram_loss:.2f} of a model that only knows how "
        f"frequent each piece is. Halve train.learning_rate, double train.warmup, and use model.norm=pre."
    )


def ignores_source(history: TrainingHistory) -> str:
    """The decoder writes without looking: other people's sources would do as well."""
    validation = history.latest
    if not history.warmed_up or validation.shuffled_source_loss is None or validation.loss >= history.unigram_loss:
        return ""
    if validation.shuffled_source_loss - validation.loss > 0.02 * validation.loss:
        return ""
    return (
        f"the decoder ignores its source: with the sources of other sentences dev loss is {validation.shuffled_source_loss:.2f} instead "
        f"of {validation.loss:.2f}. Check that the two sides belong together (`regard doctor`); then lower train.learning_rate or "
        f"lengthen train.warmup."
    )


def repeats_output(history: TrainingHistory) -> str:
    """Whatever is asked, the same is answered."""
    validation = history.latest
    if not history.warmed_up or validation.distinct_ratio is None or validation.distinct_ratio > 0.2:
        return ""
    return (
        f"only {validation.distinct_ratio:.0%} of the translations of different dev sentences differ. The model has collapsed "
        f"or has only begun to learn; if this lasts, lower train.learning_rate or lengthen train.warmup."
    )


def overfits(history: TrainingHistory) -> str:
    """Dev gets worse while training gets better."""
    dev_losses = [validation.loss for validation in history.validations[-CONSECUTIVE_RISES - 1 :]]
    train_losses = list(history.train_losses[-CONSECUTIVE_RISES - 1 :])
    if len(dev_losses) <= CONSECUTIVE_RISES or dev_losses != sorted(dev_losses) or train_losses[-1] >= train_losses[0]:
        return ""
    return (
        f"dev loss has risen for {CONSECUTIVE_RISES} checks, from {dev_losses[0]:.3f} to {dev_losses[-1]:.3f}, while training loss fell: the "
        f"model learns its corpus by heart. Raise model.dropout, use data.subword_regularization=0.1, or make the model smaller. The "
        f"best checkpoint so far is kept."
    )


ALARMS: dict[str, Callable[[TrainingHistory], str]] = {
    "above the unigram line": above_unigram,
    "ignores its source": ignores_source,
    "same output": repeats_output,
    "overfits": overfits,
}


@dataclass
class TrainingMonitor:
    """Looks at every check, and says each thing once."""

    unigram_loss: float
    warmup: int
    validations: list[Validation] = field(default_factory=list)
    train_losses: list[float] = field(default_factory=list)
    reported_alarms: set[str] = field(default_factory=set)

    def update(self, validation: Validation, train_loss: float) -> list[str]:
        """What there is to say after a check, given the mean training loss before it."""
        self.validations.append(validation)
        self.train_losses.append(train_loss)
        history = TrainingHistory(
            self.validations, self.train_losses, self.unigram_loss, validation.step >= 2 * self.warmup
        )
        messages = {name: alarm(history) for name, alarm in ALARMS.items() if name not in self.reported_alarms}
        new_messages = {name: text for name, text in messages.items() if text}
        self.reported_alarms |= new_messages.keys()
        return list(new_messages.values())


@dataclass
class ThroughputMonitor:
    """Notices when updates have been far slower than expected for minutes."""

    expected_tokens_per_second: float
    """Target pieces a second."""
    slow_seconds: float = 0.0
    reported: bool = False

    def update(self, tokens: int, seconds: float) -> str:
        """What there is to say after an update of so many pieces in so many seconds."""
        is_slow = self.expected_tokens_per_second > 0 and tokens / seconds < self.expected_tokens_per_second / 3
        self.slow_seconds = self.slow_seconds + seconds if is_slow else 0.0
        if self.reported or self.slow_seconds < SLOW_SECONDS:
            return ""
        self.reported = True
        return (
            f"for {self.slow_seconds / 60:.0f} minutes training has run at less than a third of the expected "
            f"{self.expected_tokens_per_second:,.0f} pieces a second. Is something else using this machine? (Or is memory short: lower "
            f"train.batch_tokens.)"
        )
