"""Signs that training goes wrong, each with what to change. An alarm is a function of what was seen so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from regard.training.validate import Check

RISES = 3  # checks in a row that dev must get worse before it counts
SLOW_SECONDS = 120.0


@dataclass(frozen=True)
class Seen:
    """What there is to judge by at a check."""

    checks: Sequence[Check]
    """All checks so far, the newest last."""
    train_losses: Sequence[float]
    """The mean training loss before each of them."""
    unigram: float
    """The dev loss of a model that knows nothing but how frequent each piece is."""
    warmed_up: bool
    """Whether the rate has reached its peak long enough ago to expect something."""

    @property
    def now(self) -> Check:
        return self.checks[-1]


def above_unigram(seen: Seen) -> str:
    """Nothing was learnt from context at all."""
    if not seen.warmed_up or seen.now.loss < 0.98 * seen.unigram:
        return ""
    return (
        f"dev loss {seen.now.loss:.2f} is no better than the {seen.unigram:.2f} of a model that only knows how "
        f"frequent each piece is. Halve train.rate, double train.warmup, and use model.norm=pre."
    )


def ignores_source(seen: Seen) -> str:
    """The decoder writes without looking: other people's sources would do as well."""
    check = seen.now
    if not seen.warmed_up or check.shuffled is None or check.loss >= seen.unigram:
        return ""
    if check.shuffled - check.loss > 0.02 * check.loss:
        return ""
    return (
        f"the decoder ignores its source: with the sources of other sentences dev loss is {check.shuffled:.2f} instead "
        f"of {check.loss:.2f}. Check that the two sides belong together (`regard doctor`); then lower train.rate or "
        f"lengthen train.warmup."
    )


def same_output(seen: Seen) -> str:
    """Whatever is asked, the same is answered."""
    check = seen.now
    if not seen.warmed_up or check.distinct is None or check.distinct > 0.2:
        return ""
    return (
        f"only {check.distinct:.0%} of the translations of different dev sentences differ. The model has collapsed "
        f"or has only begun to learn; if this lasts, lower train.rate or lengthen train.warmup."
    )


def overfits(seen: Seen) -> str:
    """Dev gets worse while training gets better."""
    dev = [check.loss for check in seen.checks[-RISES - 1 :]]
    train = list(seen.train_losses[-RISES - 1 :])
    if len(dev) <= RISES or dev != sorted(dev) or train[-1] >= train[0]:
        return ""
    return (
        f"dev loss has risen for {RISES} checks, from {dev[0]:.3f} to {dev[-1]:.3f}, while training loss fell: the "
        f"model learns its corpus by heart. Raise model.dropout, use data.sampling=0.1, or make the model smaller. The "
        f"best checkpoint so far is kept."
    )


ALARMS: dict[str, Callable[[Seen], str]] = {
    "above the unigram line": above_unigram,
    "ignores its source": ignores_source,
    "same output": same_output,
    "overfits": overfits,
}


@dataclass
class Watch:
    """Looks at every check, and says each thing once."""

    unigram: float
    warmup: int
    checks: list[Check] = field(default_factory=list)
    train_losses: list[float] = field(default_factory=list)
    said: set[str] = field(default_factory=set)

    def look(self, check: Check, train_loss: float) -> list[str]:
        """What there is to say after a check, given the mean training loss before it."""
        self.checks.append(check)
        self.train_losses.append(train_loss)
        seen = Seen(self.checks, self.train_losses, self.unigram, check.step >= 2 * self.warmup)
        found = {name: alarm(seen) for name, alarm in ALARMS.items() if name not in self.said}
        fired = {name: text for name, text in found.items() if text}
        self.said |= fired.keys()
        return list(fired.values())


@dataclass
class Pace:
    """Notices when updates have been far slower than expected for minutes."""

    expected: float
    """Target pieces a second."""
    slow_seconds: float = 0.0
    said: bool = False

    def look(self, tokens: int, seconds: float) -> str:
        """What there is to say after an update of so many pieces in so many seconds."""
        slow = self.expected > 0 and tokens / seconds < self.expected / 3
        self.slow_seconds = self.slow_seconds + seconds if slow else 0.0
        if self.said or self.slow_seconds < SLOW_SECONDS:
            return ""
        self.said = True
        return (
            f"for {self.slow_seconds / 60:.0f} minutes training has run at less than a third of the expected "
            f"{self.expected:,.0f} pieces a second. Is something else using this machine? (Or is memory short: lower "
            f"train.batch_tokens.)"
        )
