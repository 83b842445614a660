"""The recurrent rival reads from left to right, and its states are projected as a decoder's are."""

import pytest
import torch
from torch import nn

from regard.baselines.recurrent import RecurrentModel


@pytest.mark.parametrize("layer", [nn.GRU, nn.LSTM])
def test_a_state_depends_on_what_came_before_and_not_on_what_follows(layer):
    torch.manual_seed(1)
    model = RecurrentModel(vocab_size=11, dim=5, num_labels=3, layer=layer)
    ids = torch.randint(0, 11, (2, 7))
    other = ids.clone()
    other[:, 4] = (other[:, 4] + 1) % 11
    changes = (model(ids) - model(other)).abs().amax(dim=(0, 2))
    assert (changes[:4] == 0).all()
    assert (changes[4:] > 0).all()
    assert model.output(model(ids)).shape == (2, 7, 3)
