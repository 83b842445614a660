"""One token at a time equals the whole, for every scheme, through widening, reordering and leaving."""

import torch
from torch.testing import assert_close

from regard.data.tokenizer import PAD
from regard.model.stepwise import PLACES, Stepwise
from regard.model.transformer import EncoderDecoder
from tests.model.conftest import padded_rows


def logits(model: EncoderDecoder, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return model.output(model(source, target))


def test_steps_equal_the_whole(model: EncoderDecoder, ids):
    source, target = padded_rows([3, 11, 7]), ids(3, PLACES + 5)
    whole = logits(model, source, target)
    with torch.no_grad():
        walk = Stepwise(model).begin(source)
        for t in range(target.shape[1]):
            assert_close(walk.step(target[:, t]), whole[:, t])


def test_rows_may_be_widened_reordered_and_left(model: EncoderDecoder, ids):
    source, target = padded_rows([3, 11, 7]), ids(3, 13)
    with torch.no_grad():
        walk = Stepwise(model).begin(source)
        walk.step(target[:, 0])
        walk.widen(2)  # rows 0 0 1 1 2 2
        ways = target.repeat_interleave(2, dim=0)
        ways[1::2, 1:] = ids(3, 12)
        for t in range(1, 5):
            walk.step(ways[:, t])
        rows = torch.tensor([5, 4, 0, 0])  # the sentence in the middle leaves; another keeps one of its ways, twice
        walk.select(rows)
        ways = ways[rows]
        ways[:, 5:] = ids(4, 8)
        expected = logits(model, source[torch.tensor([2, 2, 0, 0])], ways)
        for t in range(5, 13):
            assert_close(walk.step(ways[:, t]), expected[:, t])
    assert PAD not in ways
