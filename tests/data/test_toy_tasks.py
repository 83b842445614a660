"""Toy tasks: what is asked is what stands there."""

import torch

from regard.data.toy_tasks import IGNORED, ToyBatch, marked_symbols, n_back, which_part

ROWS, LENGTH, SYMBOLS = 7, 13, 5


def test_n_back_asks_for_the_symbol_that_stood_n_places_before():
    torch.manual_seed(1)
    batch = n_back(ROWS, LENGTH, SYMBOLS, n=3)
    assert (batch.targets[:, :3] == IGNORED).all()
    assert torch.equal(batch.targets[:, 3:] + 1, batch.ids[:, :-3])
    assert set(batch.ids.flatten().tolist()) == set(range(1, SYMBOLS + 1))


def test_marked_symbols_are_the_targets_in_the_order_of_the_text():
    torch.manual_seed(1)
    for batch in (
        marked_symbols(ROWS, LENGTH, SYMBOLS, places=2),
        marked_symbols(ROWS, LENGTH, SYMBOLS, places=(0, 4)),
    ):
        for ids, targets in zip(batch.ids, batch.targets, strict=True):
            assert (ids[ids > SYMBOLS] - SYMBOLS - 1).tolist() == targets.tolist()


def test_marks_are_at_the_places_that_are_given():
    batch = marked_symbols(ROWS, LENGTH, SYMBOLS, places=(0, 4))
    assert ((batch.ids > SYMBOLS).nonzero()[:, 1].view(ROWS, 2) == torch.tensor([0, 4])).all()


def test_the_parts_of_a_text_are_equal_and_in_order():
    batch = which_part(ROWS, 12, SYMBOLS, parts=4)
    assert batch.targets.tolist() == [[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]] * ROWS
    assert batch.ids.shape == batch.targets.shape


def test_only_the_last_targets_may_be_asked_for():
    batch = ToyBatch(torch.ones(ROWS, LENGTH), torch.arange(ROWS * LENGTH).view(ROWS, LENGTH)).asked_last(2)
    assert batch.ids.shape == (ROWS, LENGTH)
    assert batch.targets[0].tolist() == [LENGTH - 2, LENGTH - 1]
