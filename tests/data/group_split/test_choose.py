"""Choosing groups: sizes and labels near what is wanted."""

from collections import Counter

import numpy as np
import pytest

from regard.data.group_split.choose import choose_groups
from regard.errors import DataError


def total(groups) -> Counter:
    return sum((Counter(weights) for weights in groups.values()), Counter())


def choose(groups, fractions, order=None):
    return choose_groups(groups, order or list(groups), fractions, total(groups))


def test_sets_have_their_share_of_every_label():
    rng = np.random.default_rng(3)
    groups = {i: {"a": int(rng.integers(1, 7)), "b": int(rng.integers(1, 3))} for i in range(997)}
    groups[997] = {"c": 900}  # a group that is too large for any set
    fractions = {"dev": 0.05, "test": 0.11}
    chosen = choose(groups, fractions)
    for name, fraction in fractions.items():
        weights = total({g: groups[g] for g, n in chosen.items() if n == name})
        for label, count in total(groups).items():
            wanted = fraction * count if label != "c" else 0
            assert weights[label] == pytest.approx(wanted, rel=0.1)
    assert 997 not in chosen


def test_a_rare_label_stays_in_train():
    groups = {i: {"a": 1} for i in range(100)} | {"x": {"rare": 1}, "y": {"rare": 1}}
    assert choose(groups, {"dev": 0.1}).keys() <= set(range(100))


def test_the_first_of_the_order_are_chosen():
    groups = {i: {"": 1} for i in range(100)}
    assert choose(groups, {"dev": 0.05, "test": 0.05}, order=list(range(99, -1, -1))) == {
        i: "dev" if i > 94 else "test" for i in range(99, 89, -1)
    }


def test_few_texts_give_one_for_each_set_and_keep_one_for_training():
    groups = {i: {"": 1} for i in range(3)}
    assert sorted(choose(groups, {"dev": 0.01, "test": 0.01}).values()) == ["dev", "test"]
    with pytest.raises(DataError, match="2 groups of texts are too few to hold out test"):
        choose({i: {"": 1} for i in range(2)}, {"dev": 0.01, "test": 0.01})


def test_a_label_that_only_one_text_has_is_never_held_out():
    """Neither by the fraction, nor where a set has at least one text."""
    groups = {"x": {"rare": 1}, "a": {"b": 2}, "c": {"b": 3}, "d": {"b": 4}}
    assert choose(groups, {"dev": 0.1, "test": 0.1}) == {"a": "dev", "c": "test"}
    with pytest.raises(DataError, match="for dev: each has a label that no other text has"):
        choose({i: {f"{i / 7}": 1} for i in range(30)}, {"dev": 0.1})
