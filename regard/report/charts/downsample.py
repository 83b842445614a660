"""Downsampling of long curves to as many points as can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float | None]


def downsample_points(points: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` points: the first one, then the means of equal windows, the last of them at the last x.

    Means, not every n-th point: of a noisy loss, single points show the noise and not the trend. The last point is a
    mean, too, since readers take it for the result.
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
