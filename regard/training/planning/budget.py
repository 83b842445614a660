"""The length of training: a number of steps, a number of minutes, or whichever ends first."""

import time
from dataclasses import dataclass, field

MIN_SECONDS = 1.0
"""Of training, however little time was given."""


@dataclass
class Budget:
    """A limit in steps or minutes, and the elapsed time, earlier sessions included."""

    steps: int | None
    minutes: float | None
    previous_seconds: float = 0.0
    reserved_seconds: float = 0.0
    """Seconds reserved for the work after the last step."""
    _started_at: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds of training so far."""
        return self.previous_seconds + time.perf_counter() - self._started_at

    def progress(self, step: int) -> float:
        """From 0 to 1, by steps or by time."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = self.elapsed / max(MIN_SECONDS, 60 * self.minutes - self.reserved_seconds) if self.minutes else 0.0
        return max(by_steps, by_time)

    def remaining_seconds(self, step: int, steps_per_second: float) -> float:
        """Seconds left at this speed."""
        by_steps = (self.steps - step) / steps_per_second if self.steps and steps_per_second else float("inf")
        by_time = 60 * self.minutes - self.elapsed if self.minutes else float("inf")
        return max(0.0, min(by_steps, by_time))
