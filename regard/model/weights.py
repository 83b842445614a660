"""Weights on disk: safetensors, never pickle. A table that is shared is written once."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.errors import ModelError
from regard.progress import track


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter by its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def write(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write a safetensors file; a failure of the disk is an OSError."""
    try:
        save_file({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        raise OSError(str(error)) from None
    path.chmod(0o666 & ~_umask())  # safetensors makes the file readable by its owner only


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: not a readable safetensors file ({error})") from None


def load_into(model: nn.Module, tensors: Mapping[str, Tensor], origin: str) -> None:
    """Load these weights into a model; no name or shape may differ."""
    parameters = dict(model.named_parameters())
    if missing := sorted(parameters.keys() - tensors.keys()):
        raise ModelError(
            f"{origin}: {missing[0]} and {len(missing) - 1} more are missing; was it written with other settings?"
        )
    if extra := sorted(tensors.keys() - parameters.keys()):
        raise ModelError(f"{origin}: {extra[0]} and {len(extra) - 1} more are not part of this model")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != tensors[name].shape:
                raise ModelError(f"{origin}: {name} is {tuple(tensors[name].shape)}, expected {tuple(parameter.shape)}")
            parameter.copy_(tensors[name])


def average_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of several weight files, summed in float64 so that the order does not matter."""
    total: dict[str, Tensor] = {}
    dtypes: dict[str, torch.dtype] = {}
    for file in track(files, "averaging checkpoints"):
        for name, tensor in read(file).items():
            dtypes[name] = tensor.dtype
            total[name] = tensor.double() + total[name] if name in total else tensor.double()
    return {name: (tensor / len(files)).to(dtypes[name]) for name, tensor in total.items()}
