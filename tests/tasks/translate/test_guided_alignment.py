"""A guided head learns what it is shown; everything else is left as it was."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.data.ibm_model1 import TranslationTable
from regard.data.tokenizers.tokenizer import PAD
from regard.model.taps import record
from regard.tasks.loss import RDrop
from regard.tasks.translate.guided_alignment import GuidedAlignment, guided_layer
from regard.tasks.translate.loss import TranslationLoss
from tests.training.conftest import V, make_batch, make_loss_module


def guide(weight: float = 0.7) -> GuidedAlignment:
    lexicon = TranslationTable(np.ones(V, np.float32), diagonal_tension=5.0)
    lexicon.counts[:] = np.random.default_rng(3).random(len(lexicon.counts))
    return GuidedAlignment(lexicon, weight, layer=1)


def test_the_guide_is_the_cross_entropy_of_the_head_with_the_alignment():
    loss_module, batch = make_loss_module(), make_batch([3, 7, 2])
    with record(loss_module.model, "decoder.layers.1.cross_attn.weights") as activations:
        loss_module.model(batch.source, batch.target_in)
    weights = activations["decoder.layers.1.cross_attn.weights"][:, 0]  # (B, T, S)
    alignment = guide().lexicon.align(batch.source.numpy(), batch.target_out.numpy())
    expected = 0.0
    for b, t in (batch.target_out != PAD).nonzero().tolist():
        for s in (batch.source[b] != PAD).nonzero()[:, 0].tolist():
            expected -= alignment[b, t, s] * weights[b, t, s].log().item()
    guided = TranslationLoss(loss_module.model, 0.1, guided_alignment=guide())
    assert (guided(batch).objective - loss_module(batch).objective).item() == pytest.approx(0.7 * expected, rel=1e-5)
    assert_close(guided(batch).loss, loss_module(batch).loss)


@pytest.mark.parametrize("kind", ["plain", "rdrop"])
def test_both_paths_are_guided_alike(kind: str):
    model, batch = make_loss_module().model, make_batch([3, 7, 2])
    gradients = []
    for padding_free in (False, True):
        loss_module = (
            TranslationLoss(model, 0.1, padding_free, guide())
            if kind == "plain"
            else RDrop(TranslationLoss(model, 0.1, padding_free, guide()), 5.0)
        )
        model.zero_grad()
        loss_module(batch).objective.backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters()})
    for name in gradients[0]:
        assert_close(gradients[0][name], gradients[1][name], rtol=1e-6, atol=1e-9)


def test_twice_the_batch_guides_no_more_than_once():
    model, batch = make_loss_module().model, make_batch([3, 7, 2])
    extra = [
        make(guide()).forward(batch).objective - make(None).forward(batch).objective
        for make in (
            lambda g: TranslationLoss(model, 0.1, False, g),
            lambda g: RDrop(TranslationLoss(model, 0.1, False, g), 5.0),
        )
    ]
    assert_close(*extra)


def test_nothing_is_guided_outside_training():
    loss_module, batch = make_loss_module(), make_batch([3, 7, 2])
    guided = TranslationLoss(loss_module.model, 0.1, guided_alignment=guide()).eval()
    with torch.no_grad():
        assert_close(guided(batch).objective, loss_module(batch).objective)


def test_a_guided_head_comes_to_look_where_it_is_shown():
    loss_module, batch = make_loss_module(), make_batch([3, 7, 2, 5])
    guided = TranslationLoss(loss_module.model, 0.1, padding_free=True, guided_alignment=guide(weight=2.0))
    alignment = torch.from_numpy(guide().lexicon.align(batch.source.numpy(), batch.target_out.numpy()))
    real = batch.target_out != PAD

    def apart() -> float:
        with record(loss_module.model, "decoder.layers.1.cross_attn.weights") as activations:
            loss_module.model(batch.source, batch.target_in)
        return float(
            (activations["decoder.layers.1.cross_attn.weights"][:, 0] - alignment)[real].abs().sum(-1).mean().detach()
        )

    before = apart()
    optimizer = torch.optim.Adam(guided.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        guided(batch).objective.backward()
        optimizer.step()
    assert apart() < 0.3 * before


def test_the_middle_layer_is_guided():
    assert [guided_layer(n) for n in (1, 2, 3, 4, 6)] == [0, 0, 1, 1, 2]
