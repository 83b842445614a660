"""Optimizers behind one interface: step at a fraction of the peak learning rate, and save state by parameter name."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.errors import ModelError
from regard.model.attention import Attention
from regard.training.muon import JORDAN, Blocks, HeadColumns, HeadRows, Muon, NewtonSchulz, polar_express, whole

SEPARATOR = "/"  # between the name of a parameter and the name of its state
TensorPlacer = Callable[[Tensor, Tensor], Tensor]
"""A saved tensor, and the parameter it belongs to -> the tensor on the device (and shard) of the parameter."""


@dataclass(frozen=True)
class Optimizers:
    """AdamW, or AdamW and Muon, each with its peak learning rate."""

    optimizers_with_peak_lr: tuple[tuple[torch.optim.Optimizer, float], ...]
    parameter_names: dict[nn.Parameter, str]

    def step(self, lr_factor: float) -> list[float]:
        """Update every parameter at `lr_factor` times its peak learning rate, and reset the gradients.

        Returns the learning rate of each optimizer: AdamW's first, then Muon's.
        """
        learning_rates = [peak_lr * lr_factor for _, peak_lr in self.optimizers_with_peak_lr]
        for (optimizer, _), learning_rate in zip(self.optimizers_with_peak_lr, learning_rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * group.get("lr_factor", 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return learning_rates

    def state_tensors(self) -> dict[str, Tensor]:
        """The state to save: moments and step counts by `parameter/state`."""
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
            if parameter_name not in parameters:
                raise ModelError(f"the state of the optimizer is of another model: it has {parameter_name!a:.80}")
            p = parameters[parameter_name]
            if value.dim() and value.shape != p.shape:
                raise ModelError(f"the state of the optimizer is of another model: {name} is {tuple(value.shape)}")
            # Where AdamW is not fused, its step count stays on the CPU.
            stays_on_cpu = state_name == "step" and p.device.type not in ("cpu", "cuda")
            optimizers_by_parameter[p].state[p][state_name] = value if stays_on_cpu else place_tensor(value, p)


def build_optimizers(c: TrainConfig, model: nn.Module) -> Optimizers:
    """The optimizers of the settings; weight decay applies to matrices, not to biases and norms."""
    names = {p: name for name, p in model.named_parameters()}
    matrices = [p for p in names if p.ndim == 2]
    vectors = [p for p in names if p.ndim != 2]
    if c.optimizer == "adamw":
        return Optimizers(((_adamw(c, matrices, vectors, _output_parameters(names, c)), c.learning_rate),), names)
    # Not the embeddings of tokens and positions.
    muon_parameters = {p for p in matrices if ".layers." in names[p] and ".positions." not in names[p]}
    muon = _muon(c, model, [p for p in matrices if p in muon_parameters])
    adamw = _adamw(c, [p for p in matrices if p not in muon_parameters], vectors, _output_parameters(names, c))
    return Optimizers(((adamw, c.learning_rate), (muon, c.muon_learning_rate)), names)


def _output_parameters(names: Mapping[nn.Parameter, str], c: TrainConfig) -> set[nn.Parameter]:
    """The parameters with a learning rate of their own."""
    return {p for p, name in names.items() if name.startswith("output.")} if c.output_lr_factor != 1 else set()


def _adamw(
    c: TrainConfig, matrices: list[nn.Parameter], vectors: list[nn.Parameter], output: set[nn.Parameter]
) -> torch.optim.Optimizer:
    groups: list[dict[str, object]] = []
    for parameters, weight_decay in ((matrices, c.weight_decay), (vectors, 0.0)):
        groups.append({"params": [p for p in parameters if p not in output], "weight_decay": weight_decay})
        own = [p for p in parameters if p in output]
        groups += [{"params": own, "weight_decay": weight_decay, "lr_factor": c.output_lr_factor}] if own else []
    fused = matrices[0].device.type in ("cpu", "cuda")
    return torch.optim.AdamW(groups, lr=c.learning_rate, betas=c.betas, eps=c.epsilon, fused=fused)


def _muon(c: TrainConfig, model: nn.Module, matrices: list[nn.Parameter]) -> torch.optim.Optimizer:
    is_classic = c.muon_polynomials == "jordan" and not c.muon_split_heads
    if is_classic and matrices[0].device.type == "cuda" and hasattr(torch.optim, "Muon"):
        return torch.optim.Muon(
            matrices, lr=c.muon_learning_rate, weight_decay=c.weight_decay, ns_steps=c.muon_iterations
        )
    polynomials = polar_express(c.muon_iterations) if c.muon_polynomials == "polar-express" else ()
    orthogonalize = NewtonSchulz(
        polynomials or c.muon_iterations * (JORDAN,),
        tight=bool(polynomials),
        dtype=torch.bfloat16 if c.muon_bfloat16 else None,
    )
    blocks_of = _head_blocks(model) if c.muon_split_heads else {}
    groups: dict[Blocks, list[nn.Parameter]] = {}
    for p in matrices:
        groups.setdefault(blocks_of.get(p, whole), []).append(p)
    return Muon(
        [{"params": parameters, "blocks": blocks} for blocks, parameters in groups.items()],
        lr=c.muon_learning_rate,
        weight_decay=c.weight_decay,
        orthogonalize=orthogonalize,
    )


def _head_blocks(model: nn.Module) -> dict[Tensor, Blocks]:
    """How the matrices of every attention are divided into those of its heads."""
    blocks: dict[Tensor, Blocks] = {}
    for module in model.modules():
        if isinstance(module, Attention):
            inputs = (module.q_proj.weight, module.k_proj.weight, module.v_proj.weight)
            blocks |= dict.fromkeys(inputs, HeadRows(module.heads))
            blocks[module.out_proj.weight] = HeadColumns(module.heads)
    return blocks


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    for group in optimizer.param_groups:
        yield from group["params"]
