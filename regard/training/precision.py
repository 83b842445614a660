"""With how many bits training computes, and by which of two paths."""

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from regard.errors import ConfigError


@dataclass(frozen=True)
class Precision:
    """The numbers that weights are, and those that products are made in."""

    device: torch.device
    weight_dtype: torch.dtype = torch.float32
    autocast_dtype: torch.dtype | None = None

    def __str__(self) -> str:
        return str(self.autocast_dtype or self.weight_dtype).removeprefix("torch.")

    def context(self) -> AbstractContextManager[object]:
        """Around the forward pass of a batch."""
        if self.autocast_dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, self.autocast_dtype)


def resolve_precision(name: str, device: torch.device) -> Precision:
    """What a setting means on a device."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    if name == "bfloat16":
        return Precision(device, autocast_dtype=torch.bfloat16)
    return Precision(device, weight_dtype=getattr(torch, name))


def uses_padding_free(padding_free: str, precision: Precision, sharded: bool) -> bool:
    """Whether a batch is computed without its padding: by kernels for CPUs and for the numbers that weights are."""
    supported = precision.device.type == "cpu" and precision.autocast_dtype is None and not sharded
    if padding_free == "packed" and not supported:
        raise ConfigError(
            "train.padding_free=packed: is for CPUs, for float32 and float64, and for models that every process holds whole; "
            "leave it out, or say train.padding_free=plain"
        )
    return supported and padding_free != "plain"
