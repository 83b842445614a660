"""With how many bits training computes."""

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Precision:
    """The numbers that weights are, and those that products are made in."""

    device: torch.device
    weights: torch.dtype = torch.float32
    products: torch.dtype | None = None

    def context(self) -> AbstractContextManager[object]:
        """Around the forward pass of a batch."""
        if self.products is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, self.products)


def choose(name: str, device: torch.device) -> Precision:
    """What a setting means on a device."""
    if name == "auto":
        name = "bfloat16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    if name == "bfloat16":
        return Precision(device, products=torch.bfloat16)
    return Precision(device, weights=getattr(torch, name))
