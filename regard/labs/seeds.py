"""Repeating a measurement with several seeds."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch

Measured = TypeVar("Measured")


def over(seeds: Iterable[int], measure: Callable[[], Measured]) -> list[Measured]:
    """What `measure` returns for each seed.

    The generator starts again for each seed and is as before afterwards, so that two arms of a comparison draw the same
    numbers, and no measurement depends on what was measured before.
    """
    results = []
    with torch.random.fork_rng(devices=[]):
        for seed in seeds:
            torch.manual_seed(seed)
            results.append(measure())
    return results
