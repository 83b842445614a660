"""The rows of all processes in each of them, with gradients: a row also counts in the losses of other processes."""

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor


class GatheredRows(NamedTuple):
    """The rows of all processes, and where those of this process begin."""

    rows: Tensor
    begin: int


def gather_rows(rows: Tensor) -> GatheredRows:
    """The rows of all processes, in the order of their ranks: (B, …) -> (ΣB, …). Alone, a process has its own.

    Every process calls it at the same time; the numbers of their rows may differ.
    """
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return GatheredRows(rows, 0)
    sizes = _gather_sizes(rows)
    if not any(sizes):
        return GatheredRows(rows, 0)
    begin = sum(sizes[: dist.get_rank()])
    return GatheredRows(_GatherRows.apply(rows, sizes, begin), begin)


def keep_rows(rows: Tensor) -> GatheredRows:
    """The rows of this process alone, with the interface of `gather_rows`."""
    return GatheredRows(rows, 0)


class _GatherRows(torch.autograd.Function):
    """The gradient of a row is the sum of those that it has in all processes."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, sizes: list[int], begin: int) -> Tensor:
        ctx.span = slice(begin, begin + len(rows))
        padded = rows.new_zeros(max(sizes), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[ctx.span], None, None


def _gather_sizes(rows: Tensor) -> list[int]:
    """The number of rows of each process."""
    sizes = torch.zeros(dist.get_world_size(), dtype=torch.long, device=rows.device)
    sizes[dist.get_rank()] = len(rows)
    dist.all_reduce(sizes)
    return sizes.tolist()
