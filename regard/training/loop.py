"""The training loop. It yields a Step after each update; the caller logs, checks, saves and decides when to stop."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, Batches, Place
from regard.errors import DataError
from regard.model.transformer import device_of
from regard.training.distributed.ddp import Solo
from regard.training.ema import Ema
from regard.training.loss import Learner
from regard.training.optim import Optimizers
from regard.training.planning.budget import Budget
from regard.training.schedule import Schedule


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


Precision = Callable[[], AbstractContextManager[object]]
"""The context in which a batch is computed."""


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
    precision: Precision = contextlib.nullcontext

    def steps(self, number: int, place: Place) -> Iterator[Step]:
        """Updates from `number` + 1 on, for as long as somebody asks."""
        ranks = self.ranks
        batches = self.batches.after(place, ranks.rank, ranks.size)
        learner = ranks.wrap(self.learner)
        learner.train()
        while True:
            start = time.perf_counter()
            number += 1
            group = list(islice(batches, self.accumulate * ranks.size))
            # Dropout depends on (seed, step) alone: no generator needs to be saved, and checks cannot disturb it.
            torch.manual_seed(_mix(self.seed, number * ranks.size + ranks.rank))
            loss, correct, tokens = self._backward(learner, [batch for _, batch in group if batch is not None])
            norm = self._clip()
            _finite(loss, norm, number)
            # By what was done before this update: the last one counts too.
            rate = self.schedule(number, ranks.agree(self.budget.progress(number - 1)))
            self.optimizers.step(rate)
            self.ema.update()
            yield Step(
                number=number,
                place=group[-1][0],
                loss=loss / tokens,
                accuracy=correct / tokens,
                tokens=int(tokens),
                rate=rate,
                norm=norm,
                seconds=time.perf_counter() - start,
            )

    def _backward(self, learner: nn.Module, batches: list[Batch]) -> list[float]:
        """The gradients of an update, and its loss, right predictions and tokens, over all processes."""
        (tokens,) = self.ranks.sum([float(sum(batch.tokens for batch in batches))])
        loss, correct = 0.0, 0.0
        for i, batch in enumerate(batches):
            with self.ranks.alone(learner, last=i == len(batches) - 1):
                with self.precision():
                    sums = learner(batch.to(device_of(self.learner)))
                (sums.objective * (self.ranks.size / tokens)).backward()  # processes are averaged, tokens are not
            loss += float(sums.loss)
            correct += float(sums.correct)
        return [*self.ranks.sum([loss, correct]), tokens]

    def _clip(self) -> float:
        norm: Tensor = torch.nn.utils.clip_grad_norm_(self.learner.parameters(), self.clip or math.inf)
        return float(self.ranks.whole(norm))


def _mix(seed: int, number: int) -> int:
    """One seed out of two numbers, far from the seeds of their neighbours."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1B54A32D192ED03) % 2**63


def _finite(loss: float, norm: float, number: int) -> None:
    if not (math.isfinite(loss) and math.isfinite(norm)):
        raise DataError(
            f"the loss is no longer a finite number at step {number}. What was saved is whole; train a "
            f"new run with a lower train.rate (half of it, say) or a longer train.warmup."
        )
