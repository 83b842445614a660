"""The processes that train together. `SingleProcess` has the interface of `MultiProcess`, so the loop never asks.

`torchrun --nproc-per-node 2 -m regard train …` starts several processes (ranks) that train one model: each computes a
part of the batches of a step, gradients are summed, and rank 0 alone logs, validates and saves.
"""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

PROCESS_GROUP_TIMEOUT = timedelta(hours=2)  # the other ranks wait while rank 0 prepares, validates and scores


class SingleProcess:
    """One process."""

    rank, world_size, local_world_size = 0, 1, 1
    sharded = False

    def __init__(self, device: torch.device):
        self.device = device

    @property
    def full_model_device(self) -> torch.device:
        """The device of the full model, which is validated and saved."""
        return self.device

    @property
    def is_main_process(self) -> bool:
        """Whether this process logs, validates and saves."""
        return self.rank == 0

    def all_reduce_sum(self, values: Sequence[float]) -> list[float]:
        """Each value summed over all processes."""
        return list(values)

    def broadcast(self, value: float) -> float:
        """The value of rank 0."""
        return value

    def barrier(self) -> None:
        """Wait until all processes are here."""

    def full_tensor(self, tensor: Tensor) -> Tensor:
        """A tensor of which each process may hold a shard, as a whole."""
        return tensor

    def shard_model(self, model: nn.Module) -> nn.Module:
        """The model to train: the given one, or a copy of which each process holds a shard."""
        return model

    def wrap(self, loss_module: nn.Module) -> nn.Module:
        """A loss module whose gradients, after the last batch of a step, are those of all processes."""
        return loss_module

    def sync_gradients(self, loss_module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """The context of a batch: gradients are exchanged with the last batch of a step only."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Leave the process group."""


class MultiProcess(SingleProcess):
    """One of several processes."""

    def __init__(self, device: torch.device):
        backend = "nccl" if device.type == "cuda" else "gloo"
        store, rank, world_size = next(dist.rendezvous("env://", timeout=PROCESS_GROUP_TIMEOUT))  # type: ignore[attr-defined]
        dist.init_process_group(
            backend,
            timeout=PROCESS_GROUP_TIMEOUT,
            store=open_fresh_store(store, rank, world_size),
            rank=rank,
            world_size=world_size,
        )
        super().__init__(device)
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()
        self.local_world_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # processes on this machine

    def all_reduce_sum(self, values: Sequence[float]) -> list[float]:
        total = self._tensor(values)
        dist.all_reduce(total)
        return total.tolist()

    def broadcast(self, value: float) -> float:
        tensor = self._tensor([value])
        dist.broadcast(tensor, 0)
        return float(tensor)

    def barrier(self) -> None:
        dist.barrier()

    def wrap(self, loss_module: nn.Module) -> nn.Module:
        return DistributedDataParallel(loss_module, broadcast_buffers=False)  # which are constants

    def sync_gradients(self, loss_module: nn.Module, last: bool) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if last else loss_module.no_sync()  # type: ignore[operator]

    def close(self) -> None:
        dist.destroy_process_group()

    def _tensor(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device=self.device)


def open_fresh_store(store: "dist.Store", rank: int, world_size: int) -> "dist.Store":  # type: ignore[name-defined]
    """A part of the store that only the processes of this start share.

    torchrun passes the same store to restarted processes, with the addresses of dead ones in it. So every process takes
    a new unique name, and rank 0 sends each of them a common prefix until all have answered under it.
    """
    if rank:
        name = uuid4().hex
        store.set(f"name/{rank}", name)
        prefix = store.get(f"prefix/{name}").decode()  # waits until it is set
        store.set(f"{prefix}/{rank}", "")
    else:
        prefix, missing_ranks = uuid4().hex, set(range(1, world_size))
        while missing_ranks:
            for missing in filter(lambda missing: store.check([f"name/{missing}"]), missing_ranks):
                store.set(f"prefix/{store.get(f'name/{missing}').decode()}", prefix)
            missing_ranks = {missing for missing in missing_ranks if not store.check([f"{prefix}/{missing}"])}
            time.sleep(0.02)
    return dist.PrefixStore(prefix, store)  # type: ignore[attr-defined]


def is_distributed() -> bool:
    """Whether torchrun has started several processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "MASTER_ADDR" in os.environ


def launch_id() -> str:
    """Identifies the torchrun that started this process, restarts included. Empty without torchrun."""
    run_id = os.environ.get("TORCHELASTIC_RUN_ID")
    parent = os.getppid()
    return f"{run_id} {parent} {_process_start_time(parent)}" if run_id else ""


def _process_start_time(pid: int) -> str:
    """When a process started, since process ids are reused; empty where the system does not report it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def local_rank() -> int:
    """The index of this process among those on this machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def init_processes(
    device: torch.device, multi_process: Callable[[torch.device], MultiProcess] = MultiProcess
) -> SingleProcess:
    """The processes that train together, or a single one."""
    return multi_process(device) if is_distributed() else SingleProcess(device)
