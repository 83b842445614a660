"""The training loop. It yields a Step after each update; the caller logs, checks, saves and decides when to stop."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from regard.data.batch import Batches, Place
from regard.errors import DataError
from regard.model.transformer import device_of
from regard.train.budget import Budget
from regard.train.ema import Ema
from regard.train.loss import Learner
from regard.train.optim import Optimizers
from regard.train.ranks import Solo
from regard.train.schedule import Schedule


@dataclass(frozen=True)
class Step:
    """What one update saw."""

    number: int
    place: Place
    loss: float  # nats per real target token, without label smoothing
    accuracy: float  # share of real target tokens
    tokens: int
    rate: float  # factor of the peak rate
    norm: float  # length of the gradient before clipping
    seconds: float


@dataclass(frozen=True)
class Loop:
    """Everything an update needs, handed in."""

    learner: Learner
    batches: Batches
    optimizers: Optimizers
    schedule: Schedule
    budget: Budget
    ema: Ema
    ranks: Solo
    accumulate: int
    clip: float
    seed: int

    def steps(self, number: int, place: Place) -> Iterator[Step]:
        """Updates from `number` + 1 on, for as long as somebody asks."""
        batches = self.batches.after(place)
        self.learner.train()
        while True:
            start = time.perf_counter()
            number += 1
            group = list(islice(batches, self.accumulate))
            # Dropout depends on (seed, step) alone: no generator needs to be saved, and checks cannot disturb it.
            torch.manual_seed(_mix(self.seed, number))
            tokens = self.ranks.sum(sum(batch.tokens for _, batch in group))
            loss, correct = 0.0, 0.0
            for _, batch in group:
                sums = self.learner(batch.to(device_of(self.learner)))
                self.ranks.backward(sums.objective / tokens)
                loss += float(sums.loss)
                correct += float(sums.correct)
            norm = self._clip()
            _finite(loss, norm, number)
            rate = self.schedule(number, self.budget.progress(number - 1))  # what was done before: the last counts too
            self.optimizers.step(rate)
            self.ema.update()
            yield Step(
                number=number,
                place=group[-1][0],
                loss=self.ranks.sum(loss) / tokens,
                accuracy=self.ranks.sum(correct) / tokens,
                tokens=int(tokens),
                rate=rate,
                norm=norm,
                seconds=time.perf_counter() - start,
            )

    def _clip(self) -> float:
        norm: Tensor = torch.nn.utils.clip_grad_norm_(self.learner.parameters(), self.clip or math.inf)
        return float(norm)


def _mix(seed: int, number: int) -> int:
    """One seed out of two numbers, far from the seeds of their neighbours."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1B54A32D192ED03) % 2**63


def _finite(loss: float, norm: float, number: int) -> None:
    if not (math.isfinite(loss) and math.isfinite(norm)):
        raise DataError(
            f"the loss is no longer a finite number at step {number}. What was saved is whole; train a "
            f"new run with a lower train.rate (half of it, say) or a longer train.warmup."
        )
