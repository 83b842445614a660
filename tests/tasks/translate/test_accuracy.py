"""Accuracy counts the tokens that are predicted: all of them where the labels are the predictions."""

import pytest
import torch

from regard.data.batch import Batch
from regard.data.tokenizers.tokenizer import PAD
from regard.tasks.loss import RDrop
from regard.tasks.translate.loss import TranslationLoss
from tests.training.conftest import make_batch, make_loss_module


def with_labels(batch: Batch, predicted: torch.Tensor, wrong: int) -> Batch:
    """Labels that are the predictions (N,), except for the first `wrong` of them."""
    labels = predicted.clone()
    labels[:wrong] = (labels[:wrong] - 4 + 1) % 19 + 4
    target = batch.target_out.clone()
    target[target != PAD] = labels
    return Batch(batch.source, batch.target_in, target, batch.num_targets)


@pytest.mark.parametrize("wrong", [0, 3])
@pytest.mark.parametrize("chunk", [5, 512])
@pytest.mark.parametrize("padding_free", [False, True])
def test_accuracy_counts_every_right_token(padding_free: bool, chunk: int, wrong: int, monkeypatch):
    monkeypatch.setattr("regard.kernels.cross_entropy.CHUNK", chunk)
    monkeypatch.setattr("regard.tasks.loss.CHUNK", chunk)
    loss_module, batch = make_loss_module(padding_free=padding_free), make_batch([3, 7, 2])
    states, _ = loss_module.states(batch)
    logits = loss_module.model.output(states.detach())
    logits[:, :4] = -torch.inf  # a label is never a special token
    loss_module.model.output.bias = torch.nn.Parameter(torch.where(torch.arange(23) < 4, -1e3, 0.0).double())
    labeled = with_labels(batch, logits.argmax(dim=-1), wrong)
    assert int(loss_module(labeled).correct) == batch.num_targets - wrong
    with torch.no_grad():
        assert int(loss_module(labeled).correct) == batch.num_targets - wrong
    twice = RDrop(TranslationLoss(loss_module.model, 0.1, padding_free), 5.0)
    for training in (True, False):
        totals = twice.train(training)(labeled)
        assert float(totals.correct) == batch.num_targets - wrong
        torch.testing.assert_close(totals.loss, loss_module(labeled).loss)
