"""Holding out, by source."""

import pytest

from regard.data.split import HeldOutSources, hold_out
from regard.formats import Pair


def pairs(count: int) -> list[Pair]:
    return [Pair(f"source {i % (count - 7)}", f"target {i}") for i in range(count)]


def sets(count: int, seed: int = 1) -> dict[str, list[Pair]]:
    held = hold_out((p.source for p in pairs(count)), seed, dev=True, test=True)
    return {name: [p for p in pairs(count) if held.split_of(p) == name] for name in ("train", "dev", "test")}


@pytest.mark.parametrize("count", [11, 307, 5003])
def test_every_pair_is_in_one_set_and_no_source_in_two(count: int):
    found = sets(count)
    assert sorted(p.target for s in found.values() for p in s) == sorted(p.target for p in pairs(count))
    sources = {name: {p.source for p in s} for name, s in found.items()}
    assert not sources["train"] & sources["dev"] and not sources["train"] & sources["test"]
    assert not sources["dev"] & sources["test"]
    assert len(sources["dev"]) == len(sources["test"]) == max(1, count // 50)


def test_the_split_depends_on_the_seed_alone():
    assert sets(307) == sets(307) != sets(307, seed=2)


def test_at_most_a_thousand_are_held_out():
    held = hold_out((str(i) for i in range(120_000)), 1, dev=True, test=False)
    assert len(held.dev) == 1000 and not held.test


def test_where_nothing_is_held_out_everything_is_trained_on():
    held = HeldOutSources(frozenset(), frozenset(), seed=1)
    assert {held.split_of(pair) for pair in pairs(11)} == {"train"}


def test_what_was_seen_before_is_held_out_last():
    sources = [f"sentence {i}" for i in range(1000)]
    seen = set(sources[:970])
    held = hold_out(sources, 1, True, True, seen)
    chosen = [source for source in sources if held.split_of(Pair(source, "")) != "train"]
    assert len(chosen) == 40 and len(set(chosen) - seen) == 30  # all that is new, and ten of the rest
    assert hold_out(sources, 1, True, True) == hold_out(sources, 1, True, True, set(sources))
