"""An exponential moving average of the weights, and its null object."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from regard.model.weights import load_into, tensors_of
from regard.training.optim import TensorPlacer


class Ema:
    """No average: the weights themselves are validated and saved."""

    def update(self) -> None:
        """Add the latest weights to the average."""

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """The model has the averaged weights inside the block."""
        yield

    def state_tensors(self) -> dict[str, Tensor]:
        """What must be saved besides the averaged weights in order to resume."""
        return {}

    def restore(
        self, evaluation_weights: Mapping[str, Tensor], state: Mapping[str, Tensor], place_tensor: TensorPlacer
    ) -> None:
        """Resume from saved weights."""


class ExponentialMovingAverage(Ema):
    """average ← decay · average + (1 - decay) · weights, with a smaller decay in the first steps."""

    def __init__(self, model: nn.Module, decay: float):
        self._model = model
        self._decay = decay
        self._updates = 0
        self._average = {name: tensor.clone() for name, tensor in tensors_of(model).items()}

    @torch.no_grad()
    def update(self) -> None:
        self._updates += 1
        decay = min(self._decay, (1 + self._updates) / (10 + self._updates))
        for name, parameter in tensors_of(self._model).items():
            self._average[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        raw = {name: tensor.clone() for name, tensor in tensors_of(self._model).items()}
        load_into(self._model, self._average, "the moving average")
        try:
            yield
        finally:
            load_into(self._model, raw, "the weights")

    def state_tensors(self) -> dict[str, Tensor]:
        raw = {f"raw.{name}": tensor for name, tensor in tensors_of(self._model).items()}
        return raw | {"updates": torch.tensor(self._updates)}

    def restore(
        self, evaluation_weights: Mapping[str, Tensor], state: Mapping[str, Tensor], place_tensor: TensorPlacer
    ) -> None:
        parameters = tensors_of(self._model)
        self._average = {
            name: place_tensor(tensor, parameters[name]).clone() for name, tensor in evaluation_weights.items()
        }
        self._updates = int(state["updates"])
        raw = {name: place_tensor(state[f"raw.{name}"], parameters[name]) for name in parameters}
        load_into(self._model, raw, "the saved weights")


def build_ema(model: nn.Module, decay: float) -> Ema:
    return ExponentialMovingAverage(model, decay) if decay else Ema()
