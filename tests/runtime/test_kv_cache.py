"""Memory of the key-value cache is reserved ahead and written where it is: little is copied."""

import pytest
import torch

from regard.model.attention import Attention
from regard.model.positions import Positions
from regard.runtime.incremental import COLUMNS_PER_RESERVE, IncrementalDecoder
from regard.runtime.kv_cache import KVCache
from tests.model.conftest import make, padded_rows


def places(cache: KVCache) -> list[int]:
    return [store.data_ptr() for store in cache._stores]


def shapes(cache: KVCache) -> set[tuple[int, ...]]:
    return {tuple(store.shape) for store in cache._stores}


def full_cache(rows: int, columns: int) -> tuple[KVCache, torch.Tensor, torch.Tensor]:
    cache = KVCache(Attention(15, 3, Positions()), torch.zeros(()))
    assert shapes(cache) == {(0, 3, 0, 5)}
    cache.reserve(rows, columns)
    k, v = torch.randn(2, rows, 3, columns, 5)
    cache.put(slice(rows), slice(columns), k, v)
    return cache, k, v


@pytest.mark.parametrize(
    ("rows", "columns", "shape"),
    [
        (8, 25, (8, 25)),
        (7, 25, (8, 25)),  # fewer rows fit
        (8, 20, (8, 25)),  # a fifth of its columns may be spare
        (8, 19, (8, 19)),  # but no more
        (7, 19, (7, 19)),
        (8, 26, (8, 26)),
        (9, 25, (9 + 2, 25)),  # a quarter of the old rows is spare when it grows
        (13, 31, (13 + 2, 31)),
    ],
)
def test_a_cache_is_made_anew_only_where_it_is_too_small_or_much_too_wide(rows: int, columns: int, shape):
    cache, k, v = full_cache(8, 25)
    before = places(cache)
    cache.reserve(rows, columns)
    assert shapes(cache) == {(shape[0], 3, shape[1], 5)}
    assert (places(cache) == before) == (shape == (8, 25))
    shared_rows, shared_columns = min(8, rows), min(25, columns)
    seen = cache.view(shared_rows, torch.arange(shared_columns)[None])
    assert torch.equal(seen.k, k[:shared_rows, :, :shared_columns])
    assert torch.equal(seen.v, v[:shared_rows, :, :shared_columns])


@pytest.mark.parametrize("first", [1, 3])
def test_columns_that_are_dropped_are_gone_even_if_all_would_fit(first: int):
    cache, k, v = full_cache(5, 7)
    cache.reserve(5, 7, drop_first=first)
    assert shapes(cache) == {(5, 3, 7, 5)}
    seen = cache.view(5, torch.arange(7 - first)[None])
    assert torch.equal(seen.k, k[:, :, first:]) and torch.equal(seen.v, v[:, :, first:])


@pytest.mark.parametrize(
    ("order", "in_place"),
    [
        ([0, 1, 2, 3, 4, 5], True),
        ([0, 1, 2, 3], True),
        ([5, 1, 2], True),
        ([4, 5, 2, 3], True),  # half of them move
        ([4, 5, 2], False),  # more than half
        ([1, 2, 3, 4, 5], False),
    ],
)
def test_few_rows_move_where_they_are_and_many_to_new_memory(order: list[int], in_place: bool):
    cache, k, v = full_cache(6, 7)
    before, rows = places(cache), torch.tensor(order)
    cache.select(rows, (rows != torch.arange(len(rows))).nonzero()[:, 0])
    assert (places(cache) == before) == in_place
    seen = cache.view(len(order), torch.arange(7)[None])
    assert torch.equal(seen.k, k[order]) and torch.equal(seen.v, v[order])


def test_memory_is_reserved_for_many_steps_at_a_time(ids):
    target = ids(3, 2 * COLUMNS_PER_RESERVE + 3)
    with torch.no_grad():
        batch = IncrementalDecoder(make()).new_batch()
        batch.admit(padded_rows([3, 11, 7]))
        changes = []
        for t in range(target.shape[1]):
            before = [places(cache) for cache in batch._kv_caches]
            batch.step(target[:, t])
            if [places(cache) for cache in batch._kv_caches] != before:
                changes.append(t)
    assert changes == [COLUMNS_PER_RESERVE, 2 * COLUMNS_PER_RESERVE]
