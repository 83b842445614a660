"""How long training lasts: so many steps, or so many minutes, or whichever ends first."""

import time
from dataclasses import dataclass, field


@dataclass
class Budget:
    """A limit in steps or minutes, and the time used up, earlier sittings included."""

    steps: int | None
    minutes: float | None
    spent: float = 0.0
    reserve: float = 0.0
    """Seconds that belong to what comes after the last update."""
    _since: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds of training so far."""
        return self.spent + time.perf_counter() - self._since

    def progress(self, step: int) -> float:
        """From 0 to 1, by steps or by the clock."""
        by_steps = step / self.steps if self.steps else 0.0
        by_clock = self.elapsed / max(1.0, 60 * self.minutes - self.reserve) if self.minutes else 0.0
        return max(by_steps, by_clock)

    def left(self, step: int, rate: float) -> float:
        """Seconds to go, at `rate` steps a second."""
        by_steps = (self.steps - step) / rate if self.steps and rate else float("inf")
        by_clock = 60 * self.minutes - self.elapsed if self.minutes else float("inf")
        return max(0.0, min(by_steps, by_clock))
