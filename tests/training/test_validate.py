"""Validation leaves the model in the mode in which it was."""

import pytest
import torch

from regard.training.validate import DevPredictions, Validator
from tests.training.conftest import make_batch, make_loss_module


@pytest.mark.parametrize("training", [False, True])
def test_the_mode_is_restored_even_where_a_batch_fails(training: bool, monkeypatch: pytest.MonkeyPatch):
    loss_module = make_loss_module(dropout=0.5).train(training)
    validator = Validator(loss_module, list, DevPredictions)
    losses = [validator._evaluate_batches([make_batch([3, 7, 2])])[0] for _ in range(2)]
    assert losses[0] == losses[1]  # no dropout
    assert {module.training for module in loss_module.modules()} == {training}

    def fail(*_: torch.Tensor) -> None:
        raise MemoryError

    monkeypatch.setattr(loss_module, "states", fail)
    with pytest.raises(MemoryError):
        validator._evaluate_batches([make_batch([3])])
    assert {module.training for module in loss_module.modules()} == {training}
