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

PATIENCE = timedelta(hours=2)  # rank 0 may take its time to prepare, check and score; the others wait


class Solo:
    """One process."""

    rank, size, here = 0, 1, 1
    sharded = False

    def __init__(self, device: torch.device):
        self.device = device

    @property
    def home(self) -> torch.device:
        """Where the model stands that is judged and saved."""
        return self.device

    @property
    def first(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0

    def sum(self, values: Sequence[float]) -> list[float]:
        """Each value added up over all processes."""
        return list(values)

    def agree(self, value: float) -> float:
        """What rank 0 says."""
        return value

    def wait(self) -> None:
        """Until everybody is here."""

    def whole(self, tensor: Tensor) -> Tensor:
        """A tensor of which each process may hold a share."""
        return tensor

    def spread(self, model: EncoderDecoder) -> EncoderDecoder:
        """The model that is trained: the one that is judged and saved, unless each process has a share."""
        return model

    def wrap(self, learner: nn.Module) -> nn.Module:
        """A learner whose gradients, after the last batch of an update, are those of all processes."""
        return learner

    def alone(self, learner: nn.Module, last: bool) -> AbstractContextManager[None]:
        """A batch of an update: gradients are exchanged only with the last."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Say goodbye."""


class Many(Solo):
    """One of several processes."""

    def __init__(self, device: torch.device):
        backend = "nccl" if device.type == "cuda" else "gloo"
        store, rank, size = next(dist.rendezvous("env://", timeout=PATIENCE))  # type: ignore[attr-defined]
        dist.init_process_group(backend, timeout=PATIENCE, store=fresh(store, rank, size), rank=rank, world_size=size)
        super().__init__(device)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))  # how many share this machine

    def sum(self, values: Sequence[float]) -> list[float]:
        total = self._tensor(values)
        dist.all_reduce(total)
        return total.tolist()

    def agree(self, value: float) -> float:
        said = self._tensor([value])
        dist.broadcast(said, 0)
        return float(said)

    def wait(self) -> None:
        dist.barrier()

    def wrap(self, learner: nn.Module) -> nn.Module:
        return DistributedDataParallel(learner, broadcast_buffers=False)  # which are constants

    def alone(self, learner: nn.Module, last: bool) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if last else learner.no_sync()  # type: ignore[operator]

    def close(self) -> None:
        dist.destroy_process_group()

    def _tensor(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device=self.device)


def fresh(store: "dist.Store", rank: int, size: int) -> "dist.Store":  # type: ignore[name-defined]
    """A part of the store that only those have who begin now.

    torchrun hands the same store to processes that it starts again, addresses of the dead included. So everybody takes
    a name that nobody had before, and rank 0 tells each of them where all meet, until all have come.
    """
    if rank:
        name = uuid4().hex
        store.set(f"name/{rank}", name)
        place = store.get(f"place/{name}").decode()  # which waits for it
        store.set(f"{place}/{rank}", "")
    else:
        place, missing = uuid4().hex, set(range(1, size))
        while missing:
            for other in filter(lambda other: store.check([f"name/{other}"]), missing):
                store.set(f"place/{store.get(f'name/{other}').decode()}", place)
            missing = {other for other in missing if not store.check([f"{place}/{other}"])}
            time.sleep(0.02)
    return dist.PrefixStore(place, store)  # type: ignore[attr-defined]


def together() -> bool:
    """Whether torchrun has started this process along with others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "MASTER_ADDR" in os.environ


def launch() -> str:
    """Which torchrun has started this process: the same for all that it starts again. Empty where none has."""
    name = os.environ.get("TORCHELASTIC_RUN_ID")
    parent = os.getppid()
    return f"{name} {parent} {_born(parent)}" if name else ""


def _born(process: int) -> str:
    """When a process began, since numbers of processes come again; empty where the system does not say."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def local_rank() -> int:
    """Which of the processes on this machine it is."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def meet(device: torch.device, many: Callable[[torch.device], Many] = Many) -> Solo:
    """Solo, or one of many."""
    return many(device) if together() else Solo(device)
