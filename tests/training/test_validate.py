"""Validation leaves the model in the mode in which it was, and samples batches evenly."""

import pytest
import torch

from regard.data.batch import Batch
from regard.training.validate import DevPredictions, Validation, Validator
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


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, []),
        (1, [0]),
        (4, [0, 1, 2, 3]),
        (7, [0, 1, 2, 3]),
        (8, [0, 2, 4, 6]),
        (11, [0, 2, 4, 6]),
        (13, [0, 3, 6, 9]),
    ],
)
def test_four_batches_of_more_than_one_sentence_stand_for_all(count: int, expected: list[int]):
    """Evenly spaced; the estimate is the loss plus what other sources add on them."""
    batches = [make_batch([n + 2, 3], seed=n) for n in range(count)]
    single = [make_batch([5])] * 3
    read: list[list[Batch]] = []

    class Recording(Validator):
        def _evaluate_batches(self, batches):
            read.append(list(batches))
            return [10.0, 1.5][len(read) - 1], 0.5

    validator = Recording(None, list, DevPredictions)  # type: ignore[arg-type]
    found = validator._shuffled_input_loss([*single, *batches], 4.0)
    if not expected:
        assert found is None and not read
    else:
        assert found == 4.0 + 10.0 - 1.5 and read[1] == [batches[n] for n in expected]
        assert all(torch.equal(one.source, two.source.flip(0)) for one, two in zip(*read, strict=True))
        assert all(one.target_out is two.target_out for one, two in zip(*read, strict=True))


def test_what_was_not_measured_is_none():
    assert Validation(1, 2.0, 0.5, None, 3.0) == Validation(1, 2.0, 0.5, None, 3.0, None, None, 0.0)
