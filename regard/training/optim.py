"""Optimisers behind one face: step at a rate, and hand their state over by the names of the parameters."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.training.muon import Muon

SEPARATOR = "/"  # between a parameter's name and what is remembered of it
TensorPlacer = Callable[[Tensor, Tensor], Tensor]
"""A saved tensor, and the parameter it belongs to -> the tensor where that lives."""


@dataclass(frozen=True)
class Optimizers:
    """One optimiser or several, each with the peak rate of its parameters."""

    optimizers_with_peak_lr: tuple[tuple[torch.optim.Optimizer, float], ...]
    parameter_names: dict[nn.Parameter, str]

    def step(self, lr_factor: float) -> None:
        """Update every parameter at `factor` of its peak rate, and forget the gradients."""
        for optimizer, peak_lr in self.optimizers_with_peak_lr:
            for group in optimizer.param_groups:
                group["lr"] = peak_lr * lr_factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def state_tensors(self) -> dict[str, Tensor]:
        """All that must be kept to go on: moments and counts by `parameter/what`."""
        return {
            f"{self.parameter_names[p]}{SEPARATOR}{key}": value  # type: ignore[index]
            for optimizer, _ in self.optimizers_with_peak_lr
            for p, state in optimizer.state.items()
            for key, value in state.items()
        }

    def restore(self, tensors: Mapping[str, Tensor], place_tensor: TensorPlacer) -> None:
        parameters = {name: p for p, name in self.parameter_names.items()}
        optimizers_by_parameter = {
            p: optimizer for optimizer, _ in self.optimizers_with_peak_lr for p in _parameters(optimizer)
        }
        for name, value in tensors.items():
            parameter_name, _, state_name = name.partition(SEPARATOR)
            p = parameters[parameter_name]
            stays_on_cpu = state_name == "step" and p.device.type not in (
                "cpu",
                "cuda",
            )  # not fused: its count stays on the CPU
            optimizers_by_parameter[p].state[p][state_name] = value if stays_on_cpu else place_tensor(value, p)


def build(c: TrainConfig, model: nn.Module) -> Optimizers:
    """The optimiser that the settings ask for; weight decay is for matrices, not for biases and norms."""
    names = {p: name for name, p in model.named_parameters()}
    matrices = [p for p in names if p.ndim == 2]
    vectors = [p for p in names if p.ndim != 2]
    if c.optimizer == "adamw":
        return Optimizers(((_adamw(c, matrices, vectors), c.learning_rate),), names)
    # Not the tables of words and positions.
    muon_parameters = {p for p in matrices if ".layers." in names[p] and ".positions." not in names[p]}
    muon = _muon(c, [p for p in matrices if p in muon_parameters])
    adamw = _adamw(c, [p for p in matrices if p not in muon_parameters], vectors)
    return Optimizers(((muon, c.muon_learning_rate), (adamw, c.learning_rate)), names)


def _adamw(c: TrainConfig, matrices: list[nn.Parameter], vectors: list[nn.Parameter]) -> torch.optim.Optimizer:
    groups = [
        {"params": matrices, "weight_decay": c.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    fused = matrices[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(groups, lr=c.learning_rate, betas=c.betas, eps=c.epsilon, fused=fused)


def _muon(c: TrainConfig, matrices: list[nn.Parameter]) -> torch.optim.Optimizer:
    if matrices[0].device.type == "cuda" and hasattr(torch.optim, "Muon"):
        return torch.optim.Muon(matrices, lr=c.muon_learning_rate, weight_decay=c.weight_decay)
    return Muon(matrices, lr=c.muon_learning_rate, weight_decay=c.weight_decay)


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    for group in optimizer.param_groups:
        yield from group["params"]
