"""Effects: what a claim says about a number, and what the number is over several seeds.

How large an effect has to be for the claim to hold is a part of the claim. It is written down before anything is
measured, so an effect that exists but is too small to matter is said not to hold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from regard.errors import LabError
from regard.labs.verdict import Verdict
from regard.metrics.intervals import mean_interval


class MeasuredClaim(Protocol):
    """One part of a claim, measured."""

    @property
    def name(self) -> str: ...

    @property
    def verdict(self) -> Verdict: ...

    @property
    def mean(self) -> float: ...

    @property
    def margin(self) -> float:
        """How far the nearer end of the interval is from where the verdict turns, in half-widths of the interval."""
        ...

    @property
    def measured(self) -> str:
        """The number, with its interval if it has one."""
        ...

    @property
    def claimed(self) -> str:
        """What the claim says about it."""
        ...


@dataclass(frozen=True)
class Effect:
    """A number over seeds that the claim says to be at least `least`, or at most `most`; with Student's interval."""

    name: str
    values: Sequence[float]
    """One of each seed; where two arms are compared, their difference or ratio for the same seed."""
    least: float | None = None
    most: float | None = None
    grain: float = 0.0
    """The smallest difference that the numbers can show, as 1/items of an accuracy: the interval is no narrower."""
    limit: float = math.inf
    """What the number cannot exceed, as 1 of an accuracy or of a difference of two: the interval ends there."""

    def __post_init__(self) -> None:
        if (self.least is None) == (self.most is None):
            raise LabError(f"effect '{self.name}' needs one bound, either `least` or `most`")
        if self.least is not None and not self.least > 0:
            raise LabError(f"effect '{self.name}': `least` must be above 0, but is {self.least:g}")
        _check_numbers(self.name, self.values, least_count=2)

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the mean over seeds."""
        low, high = mean_interval(self.values)
        low, high = min(low, self.mean - self.grain), max(high, self.mean + self.grain)
        return max(low, -self.limit), min(high, self.limit)

    @property
    def verdict(self) -> Verdict:
        low, high = self.interval
        if self.most is not None:
            return _decide(holds=high <= self.most, fails=low > self.most)
        assert self.least is not None
        if high <= -self.least:
            return Verdict.OPPOSITE_HOLDS
        return _decide(holds=low >= self.least, fails=high < self.least)

    @property
    def margin(self) -> float:
        low, high = self.interval
        bounds = [self.most] if self.least is None else [self.least, -self.least]
        distance = min(abs(end - bound) for end in (low, high) for bound in bounds if bound is not None)
        half_width = (high - low) / 2
        return distance / half_width if half_width else math.inf

    @property
    def measured(self) -> str:
        mean, low, high = (f"{value:.3g}" for value in (self.mean, *self.interval))
        return mean if mean == low == high else f"{mean} [{low}, {high}]"

    @property
    def claimed(self) -> str:
        return f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"


@dataclass(frozen=True)
class Exact:
    """A difference that the claim says to be none, but for rounding. No chance is in it, so it has no interval."""

    name: str
    values: Sequence[float]
    """Largest absolute differences, one of each seed."""
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        _check_numbers(self.name, self.values, least_count=1)

    @property
    def mean(self) -> float:
        """The largest difference of all."""
        return max(self.values)

    @property
    def verdict(self) -> Verdict:
        return Verdict.HOLDS if self.mean <= self.tolerance else Verdict.DOES_NOT_HOLD

    @property
    def margin(self) -> float:
        return math.inf

    @property
    def measured(self) -> str:
        return f"{self.mean:.2g}" if self.mean else "exactly 0"

    @property
    def claimed(self) -> str:
        return f"at most {self.tolerance:g}" if self.tolerance else "exactly 0"


@dataclass(frozen=True)
class Counted:
    """A number that is counted, as that of multiplications. No chance is in it, so it has no interval."""

    name: str
    mean: float
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if (self.least is None) == (self.most is None):
            raise LabError(f"count '{self.name}' needs one bound, either `least` or `most`")
        _check_numbers(self.name, [self.mean], least_count=1)

    @property
    def verdict(self) -> Verdict:
        holds = self.mean >= self.least if self.least is not None else self.mean <= (self.most or 0.0)
        return Verdict.HOLDS if holds else Verdict.DOES_NOT_HOLD

    @property
    def margin(self) -> float:
        return math.inf

    @property
    def measured(self) -> str:
        return f"{self.mean:,.0f}" if self.mean >= 1000 else f"{self.mean:.3g}"

    @property
    def claimed(self) -> str:
        return f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"


def _decide(*, holds: bool, fails: bool) -> Verdict:
    if holds:
        return Verdict.HOLDS
    return Verdict.DOES_NOT_HOLD if fails else Verdict.UNDECIDED


def _check_numbers(name: str, values: Sequence[float], least_count: int) -> None:
    if len(values) < least_count:
        raise LabError(f"effect '{name}' has {len(values)} of the {least_count} values that it needs: use more seeds")
    for place, value in enumerate(values):
        if not math.isfinite(value):
            raise LabError(f"effect '{name}' is {value} for seed number {place + 1}: it must be a finite number")
