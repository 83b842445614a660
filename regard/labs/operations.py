"""Counting what is computed: unlike seconds, it is the same on every machine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


@dataclass
class OperationCount:
    """Of everything that ran while it was counted."""

    multiplications: int = 0
    """Of numbers, in matrix products and convolutions."""
    products: int = 0
    """Matrix products and convolutions, one call after the other: what cannot be done at once."""


@contextmanager
def count_operations() -> Iterator[OperationCount]:
    """Count what torch computes in the block."""
    count = OperationCount()
    with _Counter(count):
        yield count


class _Counter(TorchDispatchMode):
    def __init__(self, count: OperationCount):
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = count

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        count_flops: Callable[..., int] | None = flop_registry.get(func.overloadpacket)
        if count_flops is not None:
            self.count.products += 1
            self.count.multiplications += count_flops(*args, **(kwargs or {}), out_val=output) // 2
        return output
