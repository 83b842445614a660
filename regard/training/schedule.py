"""Learning rate schedules. Each is a function (step, progress) -> factor of the peak learning rate.

`step` counts from 1; `progress` runs from 0 to 1 over the whole training, by steps or by time.
"""

import math
from collections.abc import Callable

from regard.config import TrainConfig

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


def warmup_stable_decay(warmup: int, decay: float, shape: Callable[[float], float]) -> Schedule:
    """Linear warmup, constant, then a decay to 0 over the last share of training.  Hu et al. 2024."""
    return lambda step, progress: (
        min(step / max(warmup, 1), 1.0) * shape(min(max((progress - (1 - decay)) / decay, 0.0), 1.0))
    )


DECAY_SHAPES: dict[str, Callable[[float], float]] = {  # as train.decay_shape names them
    "linear": lambda x: 1 - x,
    "1-sqrt": lambda x: 1 - math.sqrt(x),
}


def linear_decay(initial: float) -> Schedule:
    """From this factor of the peak learning rate linearly to 0 at the end, without warmup."""
    return lambda step, progress: initial * (1 - min(progress, 1.0))


SCHEDULES: dict[str, Callable[[TrainConfig], Schedule]] = {  # as train.schedule names them
    "inverse-sqrt": lambda c: inverse_sqrt(c.warmup),
    "cosine": lambda c: cosine(c.warmup),
    "constant": lambda c: constant(c.warmup),
    "wsd": lambda c: warmup_stable_decay(c.warmup, c.decay, DECAY_SHAPES[c.decay_shape]),
}
