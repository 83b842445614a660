"""Seeds: every measurement starts from its own, and leaves the generator as it was."""

import pytest
import torch

from regard.labs.seeds import over


def draw() -> float:
    return float(torch.rand(()))


def test_a_seed_gives_the_same_numbers_wherever_it_stands():
    alone = [over([seed], draw)[0] for seed in (3, 5, 7)]
    assert over([7, 3, 5], draw) == [alone[2], alone[0], alone[1]]
    assert len(set(alone)) == 3


def test_what_was_drawn_before_does_not_matter():
    before = over([3], draw)
    draw()
    assert over([3], draw) == before
    assert over([3], lambda: (draw(), draw())[0]) == before


def test_the_generator_is_as_before():
    torch.manual_seed(11)
    expected = [draw(), draw()]
    torch.manual_seed(11)
    first = draw()
    over([3, 5], draw)
    assert [first, draw()] == expected


def test_the_generator_is_as_before_an_error():
    def fail() -> None:
        raise RuntimeError(draw())

    torch.manual_seed(11)
    expected = draw()
    torch.manual_seed(11)
    with pytest.raises(RuntimeError):
        over([3], fail)
    assert draw() == expected
