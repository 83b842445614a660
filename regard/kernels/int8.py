"""Products with weights of eight bits: a quarter of the memory, and on a CPU more of them a second.

Each row of a weight is scaled so that its largest number is 127; what it is multiplied with is scaled at every call.
The numbers are ours; who multiplies them is whatever this build of torch does best. FBGEMM is the fastest by far, and
what torch wraps it in is to go some day; oneDNN takes plain tensors and stays.
"""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from regard.errors import ConfigError

Product = Callable[[Tensor], Tensor]
"""Rows (N, D) -> rows (N, E)."""
SEVEN_BITS = 63
"""The largest number of x. With eight bits, sums of two products overflow the sixteen bits of CPUs before VNNI."""


def quantise(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A weight (E, D) as whole numbers from -127 to 127, and the scale of each row (E,)."""
    scale = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny).float()
    return (weight / scale[:, None]).round().to(torch.int8), scale


def int8(weight: Tensor, bias: Tensor | None) -> Product:
    """x weightᵀ + bias, to some two decimals."""
    whole, scale = quantise(weight.detach())
    bias = None if bias is None else bias.detach().float()
    for make in KINDS.values():
        try:
            return make(whole, scale, bias)
        except (AttributeError, RuntimeError, NotImplementedError):
            continue
    raise ConfigError("this build of torch cannot multiply int8 on this machine; leave --quantize out")


def with_fbgemm(whole: Tensor, scale: Tensor, bias: Tensor | None) -> Product:
    """By FBGEMM (or QNNPACK on ARM), which also finds the scale of x."""
    zero = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tensors of this kind are to go; see above
        wrapped = torch._make_per_channel_quantized_tensor(whole, scale.double(), zero, 0)
    packed = torch.ops.quantized.linear_prepack(wrapped, bias)
    multiply = torch.ops.quantized.linear_dynamic.default
    multiply = getattr(multiply, "_op", multiply)  # without asking at every call who else might want to handle it
    return lambda x: multiply(x, packed, True)  # x in seven bits


def with_onednn(whole: Tensor, scale: Tensor, bias: Tensor | None) -> Product:
    """By oneDNN."""
    packed = torch.ops.onednn.qlinear_prepack(whole, None)
    zero = torch.zeros(len(scale), dtype=torch.long)

    def product(x: Tensor) -> Tensor:
        unit = max(float(x.abs().max()), torch.finfo(torch.float32).tiny) / SEVEN_BITS
        whole_x = (x / unit).round_().add_(SEVEN_BITS).to(torch.uint8)
        return torch.ops.onednn.qlinear_pointwise(
            whole_x, unit, SEVEN_BITS, packed, scale, zero, bias, 1.0, 0, torch.float32, "none", [], ""
        )

    return product


KINDS = {"fbgemm": with_fbgemm, "onednn": with_onednn}
"""Who can multiply, the fastest first."""
