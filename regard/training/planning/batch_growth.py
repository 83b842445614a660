"""Batches that grow: more of them are accumulated for a step, the further training is.

The noise of small batches helps at first, and hurts at the end; larger batches also mean fewer steps of the optimizer
for the same text.  Smith et al. 2018 (Don't decay the learning rate, increase the batch size).
"""

from collections.abc import Callable

BatchGrowth = Callable[[float], float]
"""Progress of training, from 0 to 1 -> factor of the batches that are accumulated for a step."""


def no_growth(progress: float) -> float:
    """As many batches a step throughout."""
    return 1.0


def linear_growth(last: float) -> BatchGrowth:
    """From 1 to `last` at the end, in a straight line."""
    return lambda progress: 1 + (last - 1) * min(progress, 1.0)


def mean_growth(last: float) -> float:
    """The mean factor of a whole training."""
    return (1 + last) / 2
