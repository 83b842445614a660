"""Histograms of weights and gradients, which read training and do not change it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.training.optim import Optimizers
from regard.training.tracking.event_file import Histogram

BINS = 64


class NullHistogramRecorder:
    """Records no histograms."""

    def pop_histograms(self, step: int) -> dict[str, Histogram]:
        """The histograms of a step, by tag; none if this step is not one to record."""
        return {}


class HistogramRecorder(NullHistogramRecorder):
    """Records every weight after a step, and its gradient as the optimizer received it, every `interval` steps."""

    def __init__(self, optimizers: Optimizers, interval: int, step: int):
        self._names, self._interval, self._step = optimizers.parameter_names, interval, step
        self._gradients: dict[str, Histogram] = {}
        for optimizer, _ in optimizers.optimizers_with_peak_lr:
            optimizer.register_step_pre_hook(self._record_gradients)  # afterwards, the gradients are reset

    def pop_histograms(self, step: int) -> dict[str, Histogram]:
        gradients, self._gradients, self._step = self._gradients, {}, step
        if step % self._interval:
            return {}
        return gradients | {f"weights/{name}": compute_histogram(p) for p, name in self._names.items()}

    def _record_gradients(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if (self._step + 1) % self._interval:
            return
        for name, gradient in self._named_gradients(optimizer):
            self._gradients[f"gradients/{name}"] = compute_histogram(gradient)

    def _named_gradients(self, optimizer: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    yield self._names[p], p.grad


def compute_histogram(tensor: Tensor) -> Histogram:
    """The distribution of the elements of a tensor, in equal bins between the smallest and the largest."""
    values = tensor.detach().double().flatten().cpu().numpy()
    counts, edges = np.histogram(values, BINS)
    return Histogram(counts, edges, float(values.sum()), float(values @ values))
