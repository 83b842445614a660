"""What the engine of a page computes in 8-bit integers, by torch: its own weights, its own rounding.

The model runs in float64 and every tensor that the engine stores is rounded to float32, so that the two agree to the
last digit but for the order of sums in float64.
"""

from typing import Any

import torch
from torch import Tensor, nn

from regard.kernels.int8 import quantize
from regard.model.attention import Attention, attend
from regard.model.projection import Projection


def rounded(x: Any) -> Any:
    return x.float().double() if isinstance(x, Tensor) and x.is_floating_point() else x


class PageLinear(nn.Module):
    """x wᵀ + b: every row of w and of x in integers from -127 to 127, summed exactly."""

    def __init__(self, weight: Tensor, bias: Tensor | None):
        super().__init__()
        integers, scales = quantize(weight.float())
        self.integers, self.scales = integers.double(), scales.double()
        self.bias = None if bias is None else bias.detach().double()

    def forward(self, x: Tensor) -> Tensor:
        x = rounded(x)
        largest = x.abs().amax(dim=-1, keepdim=True)
        scaled = torch.where(largest > 0, x * (127 / largest), 0.0).round()
        product = (scaled @ self.integers.T) * (largest / 127 * self.scales)
        return product if self.bias is None else product + self.bias


def as_in_page(model: nn.Module) -> nn.Module:
    """The model as a page computes it; it is changed."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            integers, scales = quantize(module.weight)
            table = integers.double() * scales.double()[:, None]
            module.register_forward_hook(lambda module, ids, output, table=table: table[ids[0]])
    model.double()
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear | Projection):
                setattr(module, name, PageLinear(child.weight, child.bias))
        if isinstance(module, Attention):
            module.attend = lambda q, k, v, mask, bias, *rest: attend(
                rounded(q), rounded(k), v, mask, rounded(bias), *rest
            )
    for module in model.modules():
        if not isinstance(module, nn.Embedding):
            module.register_forward_hook(lambda module, inputs, output: rounded(output))
    return model.eval()
