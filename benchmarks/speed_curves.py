"""The arithmetic of BLEU against minutes: steps of a budget, minutes of a step, minutes to a BLEU, BLEU at a minute."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

Point = tuple[float, float]
"""Minutes, and BLEU."""
START: Point = (0.0, 0.0)


@dataclass(frozen=True)
class StepCost:
    """Milliseconds of a step in equal parts of a training; a recipe that changes on its way has several."""

    parts: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.parts) / len(self.parts)

    def steps_within(self, minutes: float) -> int:
        """The steps that fit into these minutes."""
        return max(1, int(60_000 * minutes / self.mean + 1e-9))

    def minutes_at(self, step: int, steps: int) -> float:
        """Minutes until the end of a step of a training of so many steps."""
        position = step / steps * len(self.parts)
        whole = int(position)
        rest = (position - whole) * self.parts[whole] if whole < len(self.parts) else 0.0
        return (sum(self.parts[:whole]) + rest) * steps / len(self.parts) / 60_000

    def scaled(self, factor: float) -> "StepCost":
        return StepCost(tuple(factor * part for part in self.parts))


def median_cost(milliseconds: Sequence[float], parts: int) -> StepCost:
    """The medians of equal parts of a series of steps."""
    if len(milliseconds) < parts:
        raise ValueError(f"{len(milliseconds)} steps cannot be divided into {parts} parts")
    bounds = [round(i * len(milliseconds) / parts) for i in range(parts + 1)]
    return StepCost(tuple(median(milliseconds[begin:end]) for begin, end in pairwise(bounds)))


def minutes_to(points: Sequence[Point], bleu: float) -> float | None:
    """The minutes after which a curve has first reached a BLEU, interpolated; None where it never does."""
    for (x0, y0), (x1, y1) in pairwise([START, *_best_so_far(points)]):
        if y1 >= bleu:
            return x1 if y1 == y0 else x0 + (bleu - y0) / (y1 - y0) * (x1 - x0) if bleu > y0 else x0
    return None


def bleu_at(points: Sequence[Point], minutes: float) -> float | None:
    """The BLEU of a curve at a minute, interpolated; None after its end."""
    for (x0, y0), (x1, y1) in pairwise([START, *points]):
        if x0 <= minutes <= x1:
            return y0 if x1 == x0 else y0 + (minutes - x0) / (x1 - x0) * (y1 - y0)
    return None


def _best_so_far(points: Sequence[Point]) -> list[Point]:
    """The same points with the best BLEU up to each: who stops at the best has it from there on."""
    return list(zip((x for x, _ in points), accumulate((y for _, y in points), max), strict=True))
