"""Held-out pairs share no text with training, not even by way of others."""

import pytest

from regard.data.group_split import hold_out_related
from regard.errors import DataError

PAIRS = [[f"text {i}", f"positive {i % 60}"] for i in range(97)]  # some positives have two texts
CHAIN = [[f"link {i}", f"LINK  {i + 1}"] for i in range(11)]
FRACTIONS = {"dev": 0.1, "test": 0.2}


def texts_of(examples: list[list[str]], rows) -> set[str]:
    return {" ".join(text.lower().split()) for row in rows for text in examples[row]}


def test_no_text_is_on_two_sides_and_chains_stay_whole():
    examples = PAIRS + CHAIN
    split = hold_out_related(examples, 3, FRACTIONS)
    sides = [texts_of(examples, rows) for rows in split.rows.values()]
    assert all(not one & two for i, one in enumerate(sides) for two in sides[:i])
    assert len({name for name, rows in split.rows.items() for row in rows if row >= len(PAIRS)}) == 1
    sizes = {name: len(rows) for name, rows in split.rows.items()}
    assert sum(sizes.values()) == len(examples) and sizes["dev"] == pytest.approx(11, abs=2)
    assert sizes["test"] == pytest.approx(22, abs=3)


def test_the_split_depends_on_texts_and_seed_alone():
    split, reverse = hold_out_related(PAIRS, 3, FRACTIONS), hold_out_related(PAIRS[::-1], 3, FRACTIONS)
    for name in FRACTIONS:
        assert texts_of(PAIRS, split.rows[name]) == texts_of(PAIRS[::-1], reverse.rows[name])
    other = hold_out_related(PAIRS, 4, FRACTIONS)
    assert texts_of(PAIRS, other.rows["dev"]) != texts_of(PAIRS, split.rows["dev"])


def test_pairs_that_are_all_connected_cannot_be_held_out():
    with pytest.raises(DataError, match="1 group of texts is too few to hold out dev"):
        hold_out_related(CHAIN, 3, {"dev": 0.1})
