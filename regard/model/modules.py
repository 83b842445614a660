"""What is asked of any module: its size, its device, and to leave training for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


def count_parameters(model: nn.Module) -> int:
    """Learned parameters of a model; shared tables count once."""
    return sum(p.numel() for p in model.parameters())


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """The model out of training, and afterwards as it was."""
    training = model.training
    if training:  # telling every module takes a while
        model.eval()
    try:
        yield
    finally:
        if training:
            model.train()


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
