"""Learning rate schedules. Each is a function (step, progress) -> factor of the peak learning rate.

`step` counts from 1; `progress` runs from 0 to 1 over the whole training, by steps or by time.
"""

import math
from collections.abc import Callable

Schedule = Callable[[int, float], float]


def inverse_sqrt(warmup: int) -> Schedule:
    """Linear warmup, then decay with the inverse square root of the step.  Vaswani et al. 2017, equation 3."""
    return lambda step, progress: min(step / max(warmup, 1), math.sqrt(max(warmup, 1) / step))


def cosine(warmup: int) -> Schedule:
    """Linear warmup, then cosine decay to 0 at the end.  Loshchilov and Hutter 2017."""
    return lambda step, progress: min(step / max(warmup, 1), 1.0) * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))


def constant(warmup: int) -> Schedule:
    """Linear warmup, then constant."""
    return lambda step, progress: min(step / max(warmup, 1), 1.0)


def linear_decay(initial: float) -> Schedule:
    """From this factor of the peak learning rate linearly to 0 at the end, without warmup."""
    return lambda step, progress: initial * (1 - min(progress, 1.0))


SCHEDULES: dict[str, Callable[[int], Schedule]] = {  # as train.schedule names them
    "inverse-sqrt": inverse_sqrt,
    "cosine": cosine,
    "constant": constant,
}
