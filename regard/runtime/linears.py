"""How linear layers are computed: with their present weights in training, or prepared once for decoding.

Layers with the same input are one product, which is faster on a CPU. `LiveLinears` reads the weights at every call, so
that gradients reach them; `PreparedLinears` prepares each product once, in float32 or in int8.
"""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.kernels import feed_forward_relu
from regard.model.layers import FeedForward
from regard.model.variants import GatedFeedForward

LinearFunction = Callable[[Tensor], Tensor]
"""Rows (N, D) -> rows (N, E), which the caller may overwrite."""
LinearFactory = Callable[[Tensor, Tensor | None], LinearFunction]
"""A weight (E, D) and a bias (E,) -> the product with them."""
LinearGroup = tuple[nn.Module, ...]
"""Modules with a weight, and all or none of them with a bias."""


def dense_linear(weight: Tensor, bias: Tensor | None) -> LinearFunction:
    """Without quantization."""
    return lambda x: F.linear(x, weight, bias)


class Linears(Protocol):
    """A way to compute linear layers."""

    def __call__(self, x: Tensor, modules: LinearGroup) -> Tensor:
        """Layers with the same input, concatenated: (N, D) -> (N, sum of their widths)."""
        ...

    def feed_forward(self, module: nn.Module, x: Tensor) -> Tensor:
        """The feed-forward layer of rows (N, D)."""
        ...


class LiveLinears:
    """The present weights, with gradients."""

    def __call__(self, x: Tensor, modules: LinearGroup) -> Tensor:
        return F.linear(x, *_concat_weights(modules))

    def feed_forward(self, module: nn.Module, x: Tensor) -> Tensor:
        if isinstance(module, FeedForward) and module.activation is F.relu and not (module.training and module.dropout):
            return feed_forward_relu(x, module.up.weight, module.up.bias, module.down.weight, module.down.bias)
        return module(x)


class PreparedLinears:
    """The weights at the first call: for models that no longer change."""

    def __init__(self, linear_factory: LinearFactory = dense_linear):
        self._linear_factory = linear_factory
        self._cache: dict[LinearGroup | nn.Module, LinearFunction] = {}

    def __call__(self, x: Tensor, modules: LinearGroup) -> Tensor:
        return self.linear(*modules)(x)

    def feed_forward(self, module: nn.Module, x: Tensor) -> Tensor:
        return self.prepare_feed_forward(module)(x)

    def linear(self, *modules: nn.Module) -> LinearFunction:
        """Layers with the same input, concatenated."""
        if modules not in self._cache:
            self._cache[modules] = self._linear_factory(*_concat_weights(modules))
        return self._cache[modules]

    def prepare_feed_forward(self, module: nn.Module) -> LinearFunction:
        """The feed-forward layer."""
        if module not in self._cache:
            self._cache[module] = self._build_feed_forward(module)
        return self._cache[module]

    def _build_feed_forward(self, module: nn.Module) -> LinearFunction:
        if isinstance(module, FeedForward):
            up, down, activation = self.linear(module.up), self.linear(module.down), module.activation
            if activation is F.relu:
                return lambda x: down(up(x).relu_())  # in place: nothing else refers to it
            return lambda x: down(activation(up(x)))
        if isinstance(module, GatedFeedForward):
            gate_up, down = self.linear(module.gate, module.up), self.linear(module.down)
            return lambda x: down(_swiglu(*gate_up(x).chunk(2, dim=-1)))
        return module


def _swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return F.silu(gate) * up


def _concat_weights(modules: LinearGroup) -> tuple[Tensor, Tensor | None]:
    weights, biases = [module.weight for module in modules], [getattr(module, "bias", None) for module in modules]
    weight = torch.cat(weights) if len(modules) > 1 else weights[0]  # type: ignore[arg-type]
    if biases[0] is None:
        return weight, None  # type: ignore[return-value]
    return weight, torch.cat(biases) if len(modules) > 1 else biases[0]  # type: ignore[arg-type, return-value]
