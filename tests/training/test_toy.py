"""Training of toys: they learn, and what they are asked is what counts."""

import torch
from torch import Tensor, nn

from regard.data.toy_tasks import IGNORED, ToyBatch
from regard.training.toy import answer, measure_accuracy, train_on_task, train_toy

ROWS, LENGTH, SYMBOLS = 5, 7, 3


class Copy(nn.Module):
    """States of one-hot symbols."""

    def __init__(self) -> None:
        super().__init__()
        self.output = nn.Linear(SYMBOLS, SYMBOLS, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.one_hot(ids, SYMBOLS).float()


def draw(last: int = LENGTH) -> ToyBatch:
    ids = torch.randint(0, SYMBOLS, (ROWS, LENGTH))
    return ToyBatch(ids, ids).asked_last(last)


def test_training_lowers_the_loss_and_ends_at_a_learning_rate_of_0():
    torch.manual_seed(1)
    model = Copy()
    losses = train_on_task(model, draw, steps=60, learning_rate=0.3)
    assert len(losses) == 60
    assert losses[-1] < losses[0] / 10
    assert measure_accuracy(model, draw()) == 1
    assert not model.training


def test_the_first_step_of_a_warm_up_moves_the_weights_less():
    moves = []
    for warmup in (1, 50):
        torch.manual_seed(1)
        model = Copy()
        before = model.output.weight.clone()
        train_toy(model, lambda model=model: model.output.weight.sum(), steps=11, warmup=warmup)
        moves.append((model.output.weight - before).abs().max().item())
    assert moves[0] > 3 * moves[1] > 0


def test_the_last_states_answer_as_many_targets_as_there_are():
    model, batch = Copy(), draw(last=2)
    assert answer(model, batch).shape == (ROWS, 2, SYMBOLS)
    assert torch.equal(answer(model, batch), model.output(model(batch.ids))[:, -2:])


def test_accuracy_leaves_out_what_is_not_asked():
    model, batch = Copy(), draw()
    nn.init.eye_(model.output.weight)
    targets = batch.targets.clone()
    targets[:, 0] = (targets[:, 0] + 1) % SYMBOLS
    assert abs(measure_accuracy(model, ToyBatch(batch.ids, targets)) - (LENGTH - 1) / LENGTH) < 1e-6
    targets[:, 0] = IGNORED
    assert measure_accuracy(model, ToyBatch(batch.ids, targets)) == 1
