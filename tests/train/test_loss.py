"""The loss: real tokens only, summed, divided once."""

import pytest
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.batch import Batch
from regard.data.tokenizer import PAD
from regard.train.loss import Learner
from tests.train.conftest import make_batch, make_learner


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_the_loss_is_the_cross_entropy_of_real_tokens(smoothing: float):
    learner, batch = make_learner(smoothing), make_batch([3, 7, 2])
    sums = learner(batch)
    logits = learner.model.output(learner.model(batch.source, batch.target_in)).flatten(0, 1)
    gold = batch.target_out.flatten()
    kept = {"ignore_index": PAD, "reduction": "sum"}
    assert_close(sums.objective, F.cross_entropy(logits, gold, label_smoothing=smoothing, **kept))
    assert_close(sums.loss, F.cross_entropy(logits, gold, **kept))
    real = gold != PAD
    assert int(sums.correct) == int((logits.argmax(-1) == gold)[real].sum())


def test_more_padding_changes_neither_loss_nor_accuracy(learner: Learner):
    batch = make_batch([3, 7, 2])
    wide = Batch(
        *(F.pad(x, (0, 5), value=PAD) for x in (batch.source, batch.target_in, batch.target_out)),
        batch.tokens,
    )
    for mine, theirs in zip(learner(batch), learner(wide), strict=True):
        assert_close(mine, theirs)


def test_accumulated_batches_equal_one_batch(learner: Learner):
    lengths = [3, 7, 2, 5, 5, 11, 1, 4]
    whole = make_batch(lengths)
    parts = [cut(whole, slice(0, 3)), cut(whole, slice(3, 8))]
    (learner(whole).objective / whole.tokens).backward()
    expected = {name: p.grad.clone() for name, p in learner.named_parameters()}
    learner.zero_grad()
    tokens = sum(part.tokens for part in parts)
    for part in parts:
        (learner(part).objective / tokens).backward()
    for name, p in learner.named_parameters():
        assert_close(p.grad, expected[name], rtol=1e-9, atol=1e-12)


def cut(batch: Batch, rows: slice) -> Batch:
    target = batch.target_out[rows]
    return Batch(batch.source[rows], batch.target_in[rows], target, int((target != PAD).sum()))
