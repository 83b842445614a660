"""Holding out, by source."""

import pytest

from regard.data import split
from regard.data.normalization import hash_source, normalize_source
from regard.data.split import HeldOutSources, hold_out
from regard.errors import DataError
from regard.formats import Pair


def pairs(count: int) -> list[Pair]:
    return [Pair(f"source {i % (count - 7)}", f"target {i}") for i in range(count)]


def assign(held: HeldOutSources, every: list[Pair]) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {"train": [], "dev": [], "test": []}
    for name, pair in held.assign(every):
        found[name].append(pair)
    return found


def sets(count: int, seed: int = 1) -> dict[str, list[Pair]]:
    return assign(hold_out((p.source for p in pairs(count)), seed, dev=True, test=True), pairs(count))


@pytest.mark.parametrize("count", [11, 307, 5003])
def test_no_source_is_in_two_sets_nor_twice_in_dev_or_test(count: int):
    found = sets(count)
    sources = {name: {p.source for p in s} for name, s in found.items()}
    assert not sources["train"] & sources["dev"] and not sources["train"] & sources["test"]
    assert not sources["dev"] & sources["test"]
    assert len(found["dev"]) == len(found["test"]) == len(sources["dev"]) == len(sources["test"]) == max(1, count // 50)
    left_out = [p for p in pairs(count) if not any(p in s for s in found.values())]
    assert {p.source for p in left_out} <= sources["dev"] | sources["test"]
    assert len(left_out) + sum(map(len, found.values())) == count


def test_of_a_source_with_several_targets_the_first_pair_is_held_out():
    every = [Pair(f"source {i % 50}", f"target {i}") for i in range(150)]
    found = assign(hold_out((p.source for p in every), 1, True, True), every)
    assert all(int(p.target.split()[1]) < 50 for p in found["dev"] + found["test"])
    assert len(found["train"]) == 150 - 3 * len(found["dev"] + found["test"])


def write_twins(n: int) -> list[str]:
    return [
        f"The Cat no. {n} sat.",
        f"the cat NO. {n} sat.",
        f" The  Cat no.\u00a0{n} sat.",
        f"Ｔｈｅ Cat no. {n} sat.",
    ]


def test_twins_in_case_blanks_and_width_are_on_one_side():
    every = [Pair(source, f"{i}") for i in range(440) for source in write_twins(i)]
    found = assign(hold_out((p.source for p in every), 1, True, True), every)
    normal = {name: [normalize_source(p.source) for p in s] for name, s in found.items()}
    assert len(set(normal["dev"])) == len(normal["dev"]) == len(set(normal["test"])) == len(normal["test"]) == 35
    assert not set(normal["train"]) & {*normal["dev"], *normal["test"]} and not {*normal["dev"]} & {*normal["test"]}


def test_the_split_depends_on_the_seed_alone():
    assert sets(307) == sets(307) != sets(307, seed=2)


def test_at_most_a_thousand_are_held_out():
    held = hold_out((str(i) for i in range(120_000)), 1, dev=True, test=False)
    assert len(held.dev) == 1000 and not held.test


def test_where_nothing_is_held_out_everything_is_trained_on():
    held = HeldOutSources(frozenset(), frozenset(), seed=1)
    assert assign(held, pairs(11))["train"] == pairs(11)


def test_what_was_seen_before_is_held_out_last():
    sources = [f"sentence {i}" for i in range(1000)]
    seen = set(sources[:970])
    held = hold_out(sources, 1, True, True, seen)
    found = assign(held, [Pair(source, "") for source in sources])
    chosen = [pair.source for pair in found["dev"] + found["test"]]
    assert len(chosen) == 40 and len(set(chosen) - seen) == 30  # all that is new, and ten of the rest
    assert hold_out(sources, 1, True, True) == hold_out(sources, 1, True, True, set(sources))


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("most", [2, 5])
def test_the_sources_of_the_smallest_hashes_are_held_out(monkeypatch, chunk: int, most: int):
    monkeypatch.setattr(split, "CHUNK", chunk)
    monkeypatch.setattr(split, "MAX_HELD_OUT", most)
    sources = [f"source {n % 300}" for n in range(307)]
    seen = set(sources[::2])
    key = {source: (source in seen, hash_source(source, 3) >> 1) for source in sources}
    order = [key[source][1] for source in sorted(set(sources), key=key.__getitem__)]
    held = hold_out(sources, 3, True, True, seen)
    size = min(most, int(307 * 0.02))
    assert held == HeldOutSources(frozenset(order[:size]), frozenset(order[size : 2 * size]), 3)
    assert hold_out(sources, 3, False, True, seen).dev == frozenset()


def test_three_sources_are_enough_and_two_are_not():
    held = hold_out(["a", "b", "c"], 1, True, True)
    assert len(held.dev) == len(held.test) == 1 and not held.dev & held.test
    assert len(hold_out(map(str, range(99)), 1, True, True).dev) == 1  # 2 % of 99
    assert len(hold_out(map(str, range(100)), 1, True, True).dev) == 2
    many = [str(n % 9) for n in range(1000)]  # a third of all sources at most
    assert len(hold_out(many, 1, True, True).dev) == 3
    with pytest.raises(DataError) as error:
        hold_out(["a", "b", "b", "A"], 1, True, True)
    assert str(error.value) == (
        "4 pairs with 2 different sources are too few to split dev and test off; add --dev, or more pairs"
    )
