"""Weights on disk: safetensors, never pickle. A table that is shared is written once."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.errors import ModelError
from regard.files import open_regular
from regard.progress import track

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


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
    """The tensors of a safetensors file; one that is not finite is refused."""
    with _explain_damage(path):
        open_regular(path).close()  # the library would wait for a pipe
        tensors = load_file(path)
    for name, tensor in tensors.items():
        if tensor.dtype in FLOATS and not torch.isfinite(tensor).all():
            raise ModelError(f"{path}: damaged: {name} holds NaN or infinity; restore the file from a copy")
    return tensors


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor of a safetensors file, by its header alone."""
    with _explain_damage(path):
        open_regular(path).close()
        with safe_open(path, framework="pt") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


@contextlib.contextmanager
def _explain_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        problem = getattr(error, "strerror", None) or error
        raise ModelError(f"{path}: not a readable safetensors file ({problem})") from None
    except (KeyError, AttributeError, TypeError) as error:  # a type of numbers that PyTorch does not have
        raise ModelError(f"{path}: not a readable safetensors file (an unknown type: {error})") from None


def require_shapes(model: nn.Module, shapes: Mapping[str, tuple[int, ...]], origin: str) -> None:
    """Refuse weights that are not those of a model: no name or shape may differ."""
    expected = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    if missing := sorted(expected.keys() - shapes.keys()):
        raise ModelError(
            f"{origin}: {missing[0]} and {len(missing) - 1} more are missing; was it written with other settings?"
        )
    if extra := sorted(shapes.keys() - expected.keys()):
        raise ModelError(f"{origin}: {extra[0]:.80} and {len(extra) - 1} more are not part of this model")
    for name, shape in expected.items():
        if shape != shapes[name]:
            raise ModelError(f"{origin}: {name} is {shapes[name]}, expected {shape}")


def load_into(model: nn.Module, tensors: Mapping[str, Tensor], origin: str) -> None:
    """Load these weights into a model; no name or shape may differ."""
    require_shapes(model, {name: tuple(tensor.shape) for name, tensor in tensors.items()}, origin)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if tensors[name].dtype not in FLOATS:
                raise ModelError(f"{origin}: {name} holds {tensors[name].dtype}; expected floating-point numbers")
            parameter.copy_(tensors[name])


def average_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of several weight files, summed in float64 so that the order does not matter."""
    total: dict[str, Tensor] = {}
    dtypes: dict[str, torch.dtype] = {}
    for file in track(files, "averaging checkpoints"):
        for name, tensor in read(file).items():
            if name in total and total[name].shape != tensor.shape:
                raise ModelError(f"{file}: {name} is {tuple(tensor.shape)}, expected {tuple(total[name].shape)}")
            dtypes[name] = tensor.dtype
            total[name] = tensor.double() + total[name] if name in total else tensor.double()
    return {name: (tensor / len(files)).to(dtypes[name]) for name, tensor in total.items()}
