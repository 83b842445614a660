"""Training for models that learn in seconds: no files, no checkpoints, a loss that draws its own batches."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.data.toy_tasks import IGNORED, ToyBatch
from regard.training.optim import build_optimizers
from regard.training.schedule import cosine

MAX_GRAD_NORM = 1.0
WARMUP_SHARE = 0.1


def train_toy(
    model: nn.Module,
    loss: Callable[[], Tensor],
    steps: int,
    learning_rate: float = 3e-3,
    warmup: int | None = None,
) -> list[float]:
    """Train with AdamW, a warm-up and a cosine to 0; returns the loss of each step.

    `loss` draws a batch and returns the loss of it. `warmup` counts steps; unset, it is a tenth of them.
    """
    optimizers = build_optimizers(TrainConfig(learning_rate=learning_rate, weight_decay=0.0), model)
    schedule = cosine(round(WARMUP_SHARE * steps) if warmup is None else warmup)
    losses = []
    model.train()
    for step in range(1, steps + 1):
        value = loss()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM)
        optimizers.step(schedule(step, step / steps))
        losses.append(value.item())
    model.eval()
    return losses


def train_on_task(
    model: nn.Module,
    draw_batch: Callable[[], ToyBatch],
    steps: int,
    learning_rate: float = 3e-3,
    warmup: int | None = None,
) -> list[float]:
    """Train a model whose `output` projects its states on batches that are drawn; returns the loss of each step."""

    def loss() -> Tensor:
        batch = draw_batch()
        logits = answer(model, batch)
        return F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED)

    return train_toy(model, loss, steps, learning_rate, warmup)


@torch.no_grad()
def measure_accuracy(model: nn.Module, batch: ToyBatch) -> float:
    """The share of what is asked for that a model says right."""
    predictions = answer(model, batch).argmax(dim=-1)
    is_asked = batch.targets != IGNORED
    return float((predictions == batch.targets)[is_asked].float().mean())


def answer(model: nn.Module, batch: ToyBatch) -> Tensor:
    """The logits (B, N, V) of the last N tokens, where N targets of each text are asked for."""
    states: Tensor = model(batch.ids)
    logits: Tensor = model.get_submodule("output")(states[:, -batch.targets.shape[1] :])
    return logits
