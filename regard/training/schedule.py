"""How the learning rate rises and falls. Each schedule is a function (step, progress) -> factor of the peak rate.

`step` counts from 1; `progress` runs from 0 to 1 over the whole training, by steps or by the clock.
"""

import math
from collections.abc import Callable

Schedule = Callable[[int, float], float]


def inverse_sqrt(warmup: int) -> Schedule:
    """Up in a line, then down with the square root of the step.  Vaswani et al. 2017, equation 3."""
    return lambda step, progress: min(step / max(warmup, 1), math.sqrt(max(warmup, 1) / step))


def cosine(warmup: int) -> Schedule:
    """Up in a line, then down half a cosine wave to 0 at the end.  Loshchilov and Hutter 2017."""
    return lambda step, progress: min(step / max(warmup, 1), 1.0) * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))


def constant(warmup: int) -> Schedule:
    """Up in a line, then level."""
    return lambda step, progress: min(step / max(warmup, 1), 1.0)


SCHEDULES: dict[str, Callable[[int], Schedule]] = {
    "inverse-sqrt": inverse_sqrt,
    "cosine": cosine,
    "constant": constant,
}
