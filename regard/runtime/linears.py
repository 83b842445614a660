"""How linear maps are computed: as they stand in training, or made ready once for decoding.

Maps that read the same input are one product, which is what a CPU likes. `Live` reads the weights at every call, so
that gradients reach them; `Prepared` holds each product ready, and may hold it in another kind (int8, say).
"""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.kernels import feed_relu
from regard.model.layers import FeedForward, GatedFeedForward

Product = Callable[[Tensor], Tensor]
"""Rows (N, D) -> rows (N, E), which belong to whoever asked: they may be written over."""
Maker = Callable[[Tensor, Tensor | None], Product]
"""A weight (E, D) and a bias (E,) -> the product with them."""
Maps = tuple[nn.Module, ...]
"""Modules with a weight, and all or none of them with a bias."""


def dense(weight: Tensor, bias: Tensor | None) -> Product:
    """The product as it is."""
    return lambda x: F.linear(x, weight, bias)


class Products(Protocol):
    """Whoever computes linear maps."""

    def __call__(self, x: Tensor, maps: Maps) -> Tensor:
        """Maps of the same rows, side by side: (N, D) -> (N, their widths)."""
        ...

    def feed(self, feed: nn.Module, x: Tensor) -> Tensor:
        """The feed-forward of rows (N, D)."""
        ...


class Live:
    """Weights as they are at this moment, with gradients."""

    def __call__(self, x: Tensor, maps: Maps) -> Tensor:
        return F.linear(x, *_together(maps))

    def feed(self, feed: nn.Module, x: Tensor) -> Tensor:
        if isinstance(feed, FeedForward) and feed.activation is F.relu and not (feed.training and feed.dropout):
            return feed_relu(x, feed.into.weight, feed.into.bias, feed.out.weight, feed.out.bias)
        return feed(x)


class Prepared:
    """Weights as they were when each product was first wanted: for models that no longer change."""

    def __init__(self, make: Maker = dense):
        self._make = make
        self._made: dict[Maps | nn.Module, Product] = {}

    def __call__(self, x: Tensor, maps: Maps) -> Tensor:
        return self.product(*maps)(x)

    def feed(self, feed: nn.Module, x: Tensor) -> Tensor:
        return self.feeding(feed)(x)

    def product(self, *maps: nn.Module) -> Product:
        """Maps of the same rows, side by side."""
        if maps not in self._made:
            self._made[maps] = self._make(*_together(maps))
        return self._made[maps]

    def feeding(self, feed: nn.Module) -> Product:
        """The feed-forward."""
        if feed not in self._made:
            self._made[feed] = self._new_feeding(feed)
        return self._made[feed]

    def _new_feeding(self, feed: nn.Module) -> Product:
        if isinstance(feed, FeedForward):
            into, out, activation = self.product(feed.into), self.product(feed.out), feed.activation
            if activation is F.relu:
                return lambda x: out(into(x).relu_())  # nobody else has what it writes over
            return lambda x: out(activation(into(x)))
        if isinstance(feed, GatedFeedForward):
            both, out = self.product(feed.gate, feed.into), self.product(feed.out)
            return lambda x: out(_gated(*both(x).chunk(2, dim=-1)))
        return feed


def _gated(gate: Tensor, inner: Tensor) -> Tensor:
    return F.silu(gate) * inner


def _together(maps: Maps) -> tuple[Tensor, Tensor | None]:
    weights, biases = [map.weight for map in maps], [getattr(map, "bias", None) for map in maps]
    weight = torch.cat(weights) if len(maps) > 1 else weights[0]  # type: ignore[arg-type]
    if biases[0] is None:
        return weight, None  # type: ignore[return-value]
    return weight, torch.cat(biases) if len(maps) > 1 else biases[0]  # type: ignore[arg-type, return-value]
