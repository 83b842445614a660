"""Processes that were started again meet each other, not the dead."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import torch.distributed as dist

from regard.training.distributed.ddp import open_fresh_store


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
