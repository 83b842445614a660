"""Long rows of numbers made short enough to see."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float | None]


def downsample_points(points: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` points: the first as it is, then the means of equal windows, the last one standing at the end.

    Means, not every n-th point: a noisy loss thinned by picking shows the noise of the picked steps, not its
    course. So the end is a mean, too: it is what a reader takes for the result.
    """
    if len(points) <= max(limit, 2):
        return list(points)
    means = [_window_mean(window) for window in split_windows(points[1:], max(limit, 2) - 1)]
    return [points[0], *means[:-1], (points[-1][0], means[-1][1])]


def split_windows(items: Sequence[Point], parts: int) -> list[Sequence[Point]]:
    """Consecutive windows whose lengths differ by at most one."""
    cuts = [len(items) * part // parts for part in range(parts + 1)]
    return [items[start:stop] for start, stop in pairwise(cuts) if stop > start]


def _window_mean(window: Sequence[Point]) -> Point:
    values = [value for _, value in window if value is not None]
    mean_x = sum(x for x, _ in window) / len(window)
    return mean_x, sum(values) / len(values) if values else None
