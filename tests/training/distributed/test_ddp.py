"""Processes that were started again meet each other, not the dead, and agree on sums and gradients."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from regard.training.distributed import ddp
from regard.training.distributed.ddp import MultiProcess, open_fresh_store

HOURS = timedelta(hours=2)
CPU = torch.device("cpu")


def met(store: dist.Store, late: dict[int, float]) -> list[bytes]:
    """What rank 0 says, as each of three ranks hears it; some begin so many seconds later."""

    def begin(rank: int) -> bytes:
        time.sleep(late.get(rank, 0))
        place = open_fresh_store(store, rank, 3)
        if rank == 0:
            place.set("said", str(time.monotonic_ns()))
        return place.get("said")

    with ThreadPoolExecutor(3) as ranks:
        return list(ranks.map(begin, range(3)))


def test_whoever_is_started_again_meets_nobody_of_before():
    store = dist.HashStore()
    store.set_timeout(timedelta(seconds=20))
    rounds = [met(store, late) for late in ({}, {0: 0.3}, {1: 0.3}, {2: 0.3}, {})]
    assert all(len(set(heard)) == 1 for heard in rounds)
    assert len({heard[0] for heard in rounds}) == len(rounds)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[MultiProcess]:
    """A process group of one process, as torchrun would start it."""
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    process = MultiProcess(CPU)
    yield process
    if dist.is_initialized():
        process.close()


def test_a_group_of_one_is_a_process_alone(alone: MultiProcess):
    assert (alone.rank, alone.world_size, alone.local_world_size, alone.device) == (0, 1, 1, CPU)
    assert alone.is_main_process and not alone.sharded and dist.get_backend() == "gloo"
    assert alone.all_reduce_sum((0.1, 2**40 + 0.25)) == [0.1, 2**40 + 0.25]  # in float64
    assert alone.broadcast(0.1) == 0.1
    alone.close()
    assert not dist.is_initialized()


def test_sums_and_values_are_those_of_the_group(alone: MultiProcess, monkeypatch: pytest.MonkeyPatch):
    waited = []
    monkeypatch.setattr(dist, "all_reduce", lambda tensor: tensor.mul_(3))
    monkeypatch.setattr(dist, "broadcast", lambda tensor, source: tensor.fill_(source + 7))
    monkeypatch.setattr(dist, "barrier", lambda: waited.append(True))
    assert alone.all_reduce_sum((1.0, 2.5)) == [3.0, 7.5] and alone.broadcast(1.0) == 7  # of rank 0
    alone.barrier()
    assert waited


@pytest.mark.filterwarnings("ignore:`broadcast_buffers` is deprecated")
def test_gradients_are_exchanged_with_the_last_batch_only(alone: MultiProcess):
    module = alone.wrap(torch.nn.BatchNorm1d(3))
    assert isinstance(module, DistributedDataParallel) and not module.broadcast_buffers
    for last in (False, True):
        with alone.sync_gradients(module, last):
            assert module.require_backward_grad_sync == last


@pytest.mark.parametrize(("device", "backend"), [("cpu", "gloo"), ("cuda", "nccl")])
def test_a_process_waits_for_hours_in_the_group_of_its_start(device: str, backend: str, monkeypatch):
    store, begun = dist.HashStore(), {}
    monkeypatch.setattr(ddp, "uuid4", lambda: SimpleNamespace(hex="here"))
    monkeypatch.setattr(dist, "rendezvous", lambda url, timeout: iter([(store, 0, 1)]) if timeout == HOURS else None)
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **options: begun.update(options, backend=backend))
    monkeypatch.setattr(dist, "get_rank", lambda: 5)
    monkeypatch.setattr(dist, "get_world_size", lambda: 11)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    process = MultiProcess(torch.device(device))
    assert (process.rank, process.world_size, process.local_world_size) == (5, 11, 3)
    begun.pop("store").set("said", "x")
    assert begun == {"backend": backend, "timeout": HOURS, "rank": 0, "world_size": 1}
    assert store.check(["here/said"]) and not process.is_main_process
