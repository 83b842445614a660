"""The floating-point precision of training, and whether batches are computed without padding."""

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import torch

from regard.errors import ConfigError


@dataclass(frozen=True)
class Precision:
    """The data types of the weights and of the matrix multiplications."""

    device: torch.device
    weight_dtype: torch.dtype = torch.float32
    autocast_dtype: torch.dtype | None = None

    def __str__(self) -> str:
        return str(self.autocast_dtype or self.weight_dtype).removeprefix("torch.")

    def context(self) -> AbstractContextManager[object]:
        """The context of the forward pass of a batch."""
        if self.autocast_dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, self.autocast_dtype)


def resolve_precision(name: str, device: torch.device) -> Precision:
    """The precision of a setting on a device."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    if name == "bfloat16":
        return Precision(device, autocast_dtype=torch.bfloat16)
    return Precision(device, weight_dtype=getattr(torch, name))


def uses_padding_free(setting: bool | Literal["auto"], precision: Precision, sharded: bool) -> bool:
    """Whether batches are computed without their padding, by kernels for CPUs without autocast."""
    supported = precision.device.type == "cpu" and precision.autocast_dtype is None and not sharded
    if setting is True and not supported:
        raise ConfigError(
            "train.padding_free=true needs a CPU, float32 or float64, and train.shard=false; "
            "leave it out, or use train.padding_free=false"
        )
    return supported and setting is not False
