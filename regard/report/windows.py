"""Long rows of numbers made short enough to see."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float | None]


def thin(points: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` points: the first and the last as they are, between them the means of equal windows.

    Means, not every n-th point: a noisy loss thinned by picking shows the noise of the picked steps, not its
    course.
    """
    if len(points) <= max(limit, 2):
        return list(points)
    inner = [_mean(window) for window in split(points[1:-1], limit - 2)]
    return [points[0], *inner, points[-1]]


def split(items: Sequence[Point], parts: int) -> list[Sequence[Point]]:
    """Consecutive windows whose lengths differ by at most one."""
    cuts = [len(items) * part // parts for part in range(parts + 1)]
    return [items[start:stop] for start, stop in pairwise(cuts) if stop > start]


def _mean(window: Sequence[Point]) -> Point:
    values = [value for _, value in window if value is not None]
    at = sum(x for x, _ in window) / len(window)
    return at, sum(values) / len(values) if values else None
