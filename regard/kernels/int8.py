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

QuantizedLinear = Callable[[Tensor], Tensor]
"""Rows (N, D) -> rows (N, E)."""
VNNI: bool = getattr(torch.cpu, "_is_vnni_supported", lambda: False)()
"""Whether the CPU sums products of eight bits in thirty-two. Others sum pairs in sixteen, so x must have seven."""
MIN_ONEDNN_COLUMNS, MIN_ONEDNN_ROWS = (
    4096,
    64,
)  # columns and rows from which oneDNN is the faster one, if the CPU has VNNI


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A weight (E, D) as whole numbers from -127 to 127, and the scale of each row (E,)."""
    scale = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny).float()
    return (weight / scale[:, None]).round().to(torch.int8), scale


def int8_linear(weight: Tensor, bias: Tensor | None) -> QuantizedLinear:
    """x weightᵀ + bias, to some two decimals."""
    weight_int8, scale = quantize(weight.detach())
    bias = None if bias is None else bias.detach().float()
    linears = _available_linears(weight_int8, scale, bias)
    fastest = next(linears, None)
    if fastest is None:
        raise ConfigError("this build of torch cannot multiply int8 on this machine; leave --quantize out")
    if VNNI and len(weight) >= MIN_ONEDNN_COLUMNS:
        for_many_rows = next(linears, fastest)
        return lambda x: (for_many_rows if len(x) >= MIN_ONEDNN_ROWS else fastest)(x)
    return fastest


def _available_linears(weight_int8: Tensor, scale: Tensor, bias: Tensor | None) -> Iterator[QuantizedLinear]:
    """The same by all who can multiply here, the fastest first."""
    for backend in BACKENDS.values():
        with contextlib.suppress(AttributeError, RuntimeError, NotImplementedError):
            yield backend(weight_int8, scale, bias)


def fbgemm_linear(weight_int8: Tensor, scale: Tensor, bias: Tensor | None) -> QuantizedLinear:
    """By FBGEMM (or QNNPACK on ARM), which also finds the scale of x."""
    zero_points = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tensors of this kind are to go; see above
        qweight = torch._make_per_channel_quantized_tensor(weight_int8, scale.double(), zero_points, 0)
    packed_weight = torch.ops.quantized.linear_prepack(qweight, bias)
    multiply = torch.ops.quantized.linear_dynamic.default
    multiply = getattr(multiply, "_op", multiply)  # without asking at every call who else might want to handle it
    return lambda x: multiply(x, packed_weight, not VNNI)  # x in seven bits, or in eight


def onednn_linear(weight_int8: Tensor, scale: Tensor, bias: Tensor | None) -> QuantizedLinear:
    """By oneDNN."""
    packed_weight = torch.ops.onednn.qlinear_prepack(weight_int8, None)
    zero_points = torch.zeros(len(scale), dtype=torch.long)
    qmax = 127 if VNNI else 63  # of x

    def linear(x: Tensor) -> Tensor:
        x_scale = max(float(x.abs().max()), torch.finfo(torch.float32).tiny) / qmax
        x_uint8 = (x / x_scale).round_().add_(qmax).to(torch.uint8)
        return torch.ops.onednn.qlinear_pointwise(
            x_uint8, x_scale, qmax, packed_weight, scale, zero_points, bias, 1.0, 0, torch.float32, "none", [], ""
        )

    return linear


BACKENDS = {"fbgemm": fbgemm_linear, "onednn": onednn_linear}
"""Who can multiply, the fastest first."""
