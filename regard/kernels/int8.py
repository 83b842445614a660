"""Linear layers with int8 weights: a quarter of the memory, and on a CPU faster.

Each row of a weight is scaled so that its largest number is 127; activations are scaled at every call. The backend is
the fastest that this build of torch has. FBGEMM is the fastest except for many rows and a wide weight (a vocabulary),
where it writes everything twice; torch has deprecated its tensor type. oneDNN takes plain tensors.
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
"""Whether the CPU accumulates int8 products in 32 bits. Others add pairs in 16 bits, so x gets 7 bits there."""
# Columns and rows from which oneDNN is the faster one, if the CPU has VNNI.
MIN_ONEDNN_COLUMNS, MIN_ONEDNN_ROWS = 4096, 64


def quantize(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A weight (E, D) as integers from -127 to 127, and the scale of each row (E,)."""
    scale = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny).float()
    return (weight / scale[:, None]).round().to(torch.int8), scale


def int8_linear(weight: Tensor, bias: Tensor | None) -> QuantizedLinear:
    """x weightᵀ + bias, to about two decimals."""
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
    """The same by every backend that works here, the fastest first."""
    for backend in BACKENDS.values():
        with contextlib.suppress(AttributeError, RuntimeError, NotImplementedError):
            yield backend(weight_int8, scale, bias)


def fbgemm_linear(weight_int8: Tensor, scale: Tensor, bias: Tensor | None) -> QuantizedLinear:
    """By FBGEMM (or QNNPACK on ARM), which also finds the scale of x."""
    zero_points = torch.zeros(len(scale), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # quantized tensors are deprecated; see above
        qweight = torch._make_per_channel_quantized_tensor(weight_int8, scale.double(), zero_points, 0)
    packed_weight = torch.ops.quantized.linear_prepack(qweight, bias)
    multiply = torch.ops.quantized.linear_dynamic.default
    multiply = getattr(multiply, "_op", multiply)  # without the dispatch of every call
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
"""The backends, the fastest first."""
