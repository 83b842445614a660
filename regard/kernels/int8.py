"""Products with weights of eight bits: a quarter of the memory, and on a CPU more of them a second.

Each row of a weight is scaled so that its largest number is 127; what it is multiplied with is scaled at every call.
The numbers are ours; who multiplies them is whatever this build of torch does best. FBGEMM is the fastest but for many
rows with a wide weight (a vocabulary), where it writes everything twice, and what torch wraps it in is to go some day;
oneDNN takes plain tensors and stays.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from regard.errors import ConfigError

Product = Callable[[Tensor], Tensor]
"""Rows (N, D) -> rows (N, E)."""
VNNI: bool = getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
"""Whether the CPU sums products of eight bits in thirty-two. Others sum pairs in sixteen, so x must have seven."""
WIDE, MANY = 4096, 64  # columns and rows from which oneDNN is the faster one, if the CPU has VNNI


def quantise(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A weight (E, D) as whole numbers from -127 to 127, and the scale of each row (E,)."""
    scale = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny).float()
    return (weight / scale[:, None]).round().to(torch.int8), scale


def int8(weight: Tensor, bias: Tensor | None) -> Product:
    """x weightᵀ + bias, to some two decimals."""
    whole, scale = quantise(weight.detach())
    bias = None if bias is None else bias.detach().float()
    products = _products(whole, scale, bias)
    first = next(products, None)
    if first is None:
        raise ConfigError("this build of torch cannot multiply int8 on this machine; leave --quantize out")
    if VNNI and len(weight) >= WIDE:
        many = next(products, first)
        return lambda x: (many if len(x) >= MANY else first)(x)
    return first


def _products(whole: Tensor, scale: Tensor, bias: Tensor | None) -> Iterator[Product]:
    """The same by all who can multiply here, the fastest first."""
    for make in KINDS.values():
        with contextlib.suppress(AttributeError, RuntimeError, NotImplementedError):
            yield make(whole, scale, bias)


def with_fbgemm(whole: Tensor, scale: Tensor, bias: Tensor | None) -> Product:
    """By FBGEMM (or QNNPACK on ARM), which also finds the scale of x."""
    zero = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tensors of this kind are to go; see above
        wrapped = torch._make_per_channel_quantized_tensor(whole, scale.double(), zero, 0)
    packed = torch.ops.quantized.linear_prepack(wrapped, bias)
    multiply = torch.ops.quantized.linear_dynamic.default
    multiply = getattr(multiply, "_op", multiply)  # without asking at every call who else might want to handle it
    return lambda x: multiply(x, packed, not VNNI)  # x in seven bits, or in eight


def with_onednn(whole: Tensor, scale: Tensor, bias: Tensor | None) -> Product:
    """By oneDNN."""
    packed = torch.ops.onednn.qlinear_prepack(whole, None)
    zero = torch.zeros(len(scale), dtype=torch.long)
    most = 127 if VNNI else 63  # of x

    def product(x: Tensor) -> Tensor:
        unit = max(float(x.abs().max()), torch.finfo(torch.float32).tiny) / most
        whole_x = (x / unit).round_().add_(most).to(torch.uint8)
        return torch.ops.onednn.qlinear_pointwise(
            whole_x, unit, most, packed, scale, zero, bias, 1.0, 0, torch.float32, "none", [], ""
        )

    return product


KINDS = {"fbgemm": with_fbgemm, "onednn": with_onednn}
"""Who can multiply, the fastest first."""
