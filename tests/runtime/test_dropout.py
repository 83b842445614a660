"""Dropout of the packed path: the gradient is that of the pass that was made, and residual streams are not dropped."""

import pytest
import torch
from torch.testing import assert_close

from regard.data.tokenizers.tokenizer import PAD
from regard.model.layers import Residual
from regard.model.taps import record
from regard.runtime.padding_free import PaddingFreeForward
from tests.model.conftest import make, padded_rows


@pytest.mark.parametrize("where", ["dropout", "attention_dropout", "activation_dropout", "word_dropout"])
def test_the_gradient_is_that_of_the_masks_that_were_drawn(where: str):
    """With a fixed seed the path is a function like any other: its gradient predicts a small change of its value."""
    model = make(**{"dropout": 0.0, where: 0.4, "activation": "gelu"}).train()
    path, rows = PaddingFreeForward(model), (padded_rows([3, 7]), padded_rows([5, 2]))
    parameters = list(model.parameters())
    pull = torch.randn(7, 22, dtype=torch.double)

    def value() -> torch.Tensor:
        torch.manual_seed(11)
        return (path(*rows) * pull).sum()

    value().backward()
    direction = [torch.randn_like(parameter) for parameter in parameters]
    predicted = sum(float((p.grad * d).sum()) for p, d in zip(parameters, direction, strict=True) if p.grad is not None)
    step, values = 1e-6, []
    for sign in (1, -1):
        with torch.no_grad():
            for parameter, change in zip(parameters, direction, strict=True):
                parameter += sign * step * change
            values.append(float(value()))
            for parameter, change in zip(parameters, direction, strict=True):
                parameter -= sign * step * change
    assert (values[0] - values[1]) / (2 * step) == pytest.approx(predicted, rel=1e-4)


def test_dropout_of_all_that_layers_add_leaves_what_they_were_given():
    model, rows = make(dropout=0.0).train(), (padded_rows([3, 7]), padded_rows([5, 2]))
    for module in model.modules():
        if isinstance(module, Residual):
            module.dropout = 1.0
    embedding = model.decoder.embedding(rows[1], torch.arange(5)[None])[rows[1] != PAD]
    torch.manual_seed(3)
    assert_close(PaddingFreeForward(model)(*rows), model.decoder.norm(embedding))
    assert_close(model(*rows)[rows[1] != PAD], model.decoder.norm(embedding))


@pytest.mark.parametrize("tap", ["scores", "weights"])
def test_one_hooked_tap_is_enough_to_be_passed(tap: str):
    model, rows = make(), (padded_rows([3, 7]), padded_rows([5, 2]))
    with record(model, f"*.{tap}") as plain:
        model(*rows)
    with record(model, f"*.{tap}") as packed:
        PaddingFreeForward(model)(*rows)
    assert plain.keys() == packed.keys() and len(plain) == 2 + 2 * 3
    for name, tensor in plain.items():
        queries = rows[0] if name.startswith("encoder") else rows[1]
        keys = rows[1] if name.startswith("decoder") and "self_attn" in name else rows[0]
        # What padding has, as a query or as a key, is no result.
        tokens = ((queries != PAD)[:, None, :, None] & (keys != PAD)[:, None, None, :]).expand_as(tensor)
        assert_close(packed[name][tokens], tensor[tokens])
