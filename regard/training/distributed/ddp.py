"""Who else trains with us. Solo has the face of many and no one to wait for, so the loop never asks.

`torchrun --nproc-per-node 2 -m regard train …` starts several processes, ranks, that train one model: each takes its
share of the batches of an update, gradients are summed, and rank 0 alone speaks, checks and saves.
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

from regard.model.transformer import EncoderDecoder

PROCESS_GROUP_TIMEOUT = timedelta(hours=2)  # rank 0 may take its time to prepare, check and score; the others wait


class SingleProcess:
    """One process."""

    rank, world_size, local_world_size = 0, 1, 1
    sharded = False

    def __init__(self, device: torch.device):
        self.device = device

    @property
    def full_model_device(self) -> torch.device:
        """Where the model stands that is judged and saved."""
        return self.device

    @property
    def is_main_process(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0

    def all_reduce_sum(self, values: Sequence[float]) -> list[float]:
        """Each value added up over all processes."""
        return list(values)

    def broadcast(self, value: float) -> float:
        """What rank 0 says."""
        return value

    def barrier(self) -> None:
        """Until everybody is here."""

    def full_tensor(self, tensor: Tensor) -> Tensor:
        """A tensor of which each process may hold a share."""
        return tensor

    def shard_model(self, model: EncoderDecoder) -> EncoderDecoder:
        """The model that is trained: the one that is judged and saved, unless each process has a share."""
        return model

    def wrap(self, loss_module: nn.Module) -> nn.Module:
        """A learner whose gradients, after the last batch of an update, are those of all processes."""
        return loss_module

    def sync_gradients(self, loss_module: nn.Module, last: bool) -> AbstractContextManager[None]:
        """A batch of an update: gradients are exchanged only with the last."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Say goodbye."""


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
        self.local_world_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # how many share this machine

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
    """A part of the store that only those have who begin now.

    torchrun hands the same store to processes that it starts again, addresses of the dead included. So everybody takes
    a name that nobody had before, and rank 0 tells each of them where all meet, until all have come.
    """
    if rank:
        name = uuid4().hex
        store.set(f"name/{rank}", name)
        prefix = store.get(f"place/{name}").decode()  # which waits for it
        store.set(f"{prefix}/{rank}", "")
    else:
        prefix, missing_ranks = uuid4().hex, set(range(1, world_size))
        while missing_ranks:
            for other in filter(lambda other: store.check([f"name/{other}"]), missing_ranks):
                store.set(f"place/{store.get(f'name/{other}').decode()}", prefix)
            missing_ranks = {other for other in missing_ranks if not store.check([f"{prefix}/{other}"])}
            time.sleep(0.02)
    return dist.PrefixStore(prefix, store)  # type: ignore[attr-defined]


def is_distributed() -> bool:
    """Whether torchrun has started this process along with others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "MASTER_ADDR" in os.environ


def launch_id() -> str:
    """Which torchrun has started this process: the same for all that it starts again. Empty where none has."""
    run_id = os.environ.get("TORCHELASTIC_RUN_ID")
    parent = os.getppid()
    return f"{run_id} {parent} {_process_start_time(parent)}" if run_id else ""


def _process_start_time(pid: int) -> str:
    """When a process began, since numbers of processes come again; empty where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def local_rank() -> int:
    """Which of the processes on this machine it is."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def init_processes(
    device: torch.device, multi_process: Callable[[torch.device], MultiProcess] = MultiProcess
) -> SingleProcess:
    """Solo, or one of many."""
    return multi_process(device) if is_distributed() else SingleProcess(device)
