"""Training for models that learn in seconds: no files, no checkpoints, a loss that draws its own batches."""

from collections.abc import Callable

from torch import Tensor, nn

from regard.config import TrainConfig
from regard.training.optim import build_optimizers
from regard.training.schedule import SCHEDULES

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
    schedule = SCHEDULES["cosine"](round(WARMUP_SHARE * steps) if warmup is None else warmup)
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
