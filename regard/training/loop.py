"""The training loop. It yields a Step after each optimizer step; the caller logs, validates, saves and stops."""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor, nn

from regard.data.batch import Batch, Batches, DataPosition
from regard.errors import DivergedError
from regard.files import Count
from regard.model.modules import device_of
from regard.tasks.loss import LossModule
from regard.training.distributed.ddp import SingleProcess
from regard.training.ema import Ema
from regard.training.optim import Optimizers
from regard.training.planning.batch_growth import BatchGrowth, no_growth
from regard.training.planning.budget import Budget
from regard.training.schedule import Schedule


@dataclass(frozen=True)
class Step:
    """One optimizer step, as the log has it."""

    number: Count
    data_position: DataPosition
    loss: float  # nats per target token, without label smoothing
    accuracy: float  # fraction of target tokens
    tokens: Count  # target tokens, padding excluded
    learning_rate: float  # of AdamW
    grad_norm: float  # before clipping
    seconds: float
    muon_learning_rate: float | None = None  # where Muon trains the matrices


PrecisionContext = Callable[[], AbstractContextManager[object]]
"""The context in which a batch is computed."""


@dataclass(frozen=True)
class TrainingLoop:
    """Everything that an optimizer step needs."""

    loss_module: LossModule
    batches: Batches
    optimizers: Optimizers
    schedule: Schedule
    budget: Budget
    ema: Ema
    processes: SingleProcess
    accumulate_batches: int
    clip_grad_norm: float
    seed: int
    precision: PrecisionContext = contextlib.nullcontext
    batch_growth: BatchGrowth = no_growth

    def steps(self, number: int, data_position: DataPosition) -> Iterator[Step]:
        """Steps from `number` + 1 on, without end: the caller decides when to stop."""
        processes = self.processes
        progress = 0.0
        batches = self.batches.iterate_from(data_position, processes.rank, processes.world_size, lambda: progress)
        loss_module = processes.wrap(self.loss_module)
        loss_module.train()
        while True:
            start = time.perf_counter()
            number += 1
            # Progress before this step, so that the last step has a learning rate above 0.
            progress = processes.broadcast(self.budget.progress(number - 1))
            self.loss_module.set_progress(progress)
            batches_per_process = round(self.accumulate_batches * self.batch_growth(progress))
            group = list(islice(batches, batches_per_process * processes.world_size))
            # Dropout depends on (seed, step) only: no generator state is saved, and validation cannot disturb it.
            torch.manual_seed(_mix_seed(self.seed, number * processes.world_size + processes.rank))
            loss, correct, tokens = self._backward(loss_module, [batch for _, batch in group if batch is not None])
            grad_norm = self._clip_gradients()
            require_finite(number, loss, grad_norm)
            learning_rate, *muon_learning_rate = self.optimizers.step(self.schedule(number, progress))
            self.ema.update()
            yield Step(
                number=number,
                data_position=group[-1][0],
                loss=loss / tokens,
                accuracy=correct / tokens,
                tokens=int(tokens),
                learning_rate=learning_rate,
                grad_norm=grad_norm,
                seconds=time.perf_counter() - start,
                muon_learning_rate=muon_learning_rate[0] if muon_learning_rate else None,
            )

    def _backward(self, loss_module: nn.Module, batches: list[Batch]) -> list[float]:
        """Compute the gradients of a step; its loss, correct predictions and tokens, summed over all processes."""
        (tokens,) = self.processes.all_reduce_sum([float(sum(batch.num_targets for batch in batches))])
        loss, correct = 0.0, 0.0
        for i, batch in enumerate(batches):
            with self.processes.sync_gradients(loss_module, last=i == len(batches) - 1):
                with self.precision():
                    totals = loss_module(batch.to(device_of(self.loss_module)))
                # DDP averages over processes; the loss is averaged over tokens.
                (totals.objective * (self.processes.world_size / tokens)).backward()
            loss += float(totals.loss)
            correct += float(totals.correct)
        return [*self.processes.all_reduce_sum([loss, correct]), tokens]

    def _clip_gradients(self) -> float:
        grad_norm: Tensor = torch.nn.utils.clip_grad_norm_(
            self.loss_module.parameters(), self.clip_grad_norm or math.inf
        )
        return float(self.processes.full_tensor(grad_norm))


def _mix_seed(seed: int, number: int) -> int:
    """One seed from two numbers, far from the seeds of neighboring numbers."""
    return (seed * 0x9E3779B97F4A7C15 + number * 0xD1B54A32D192ED03) % 2**63


def require_finite(number: int, *values: float) -> None:
    """Stop a training whose loss, or whose gradient norm, is not finite at this step."""
    if not all(map(math.isfinite, values)):
        raise DivergedError(
            f"the loss is no longer a finite number at step {number}. The last checkpoint is intact; train a "
            f"new run with a lower train.learning_rate (half of it, for example) or a longer train.warmup."
        )
