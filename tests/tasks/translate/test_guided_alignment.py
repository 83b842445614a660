"""A guided head learns what it is shown; everything else is left as it was."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.config import Config, Head, PiecewiseLinear, override
from regard.data.ibm_model1 import TranslationTable
from regard.data.tokenizers.tokenizer import PAD
from regard.model.taps import record
from regard.tasks.loss import ProgressValue, RDrop
from regard.tasks.translate.guided_alignment import GuidedAlignment, guided_heads, guided_layer
from regard.tasks.translate.loss import TranslationLoss
from tests.training.conftest import V, make_batch, make_loss_module


def guide(weight: float | PiecewiseLinear = 0.7, heads: str = "decoder.1.cross.0") -> GuidedAlignment:
    lexicon = TranslationTable(np.ones(V, np.float32), diagonal_tension=5.0)
    lexicon.counts[:] = np.random.default_rng(3).random(len(lexicon.counts))
    return GuidedAlignment(lexicon, ProgressValue(weight), tuple(map(Head.parse, heads.split())))


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


@pytest.mark.parametrize("padding_free", [False, True])
def test_several_heads_are_guided_by_the_mean_of_what_each_alone_would_be(padding_free: bool):
    model, batch = make_loss_module().model, make_batch([3, 7, 2])

    def objective(guided: GuidedAlignment | None) -> float:
        return TranslationLoss(model, 0.1, padding_free, guided)(batch).objective.item()

    plain, names = objective(None), ("decoder.1.cross.1", "decoder.0.cross.1", "decoder.1.cross.0")
    alone = [objective(guide(heads=name)) - plain for name in names]
    assert len({round(value, 6) for value in alone}) == 3
    assert objective(guide(heads=" ".join(names))) - plain == pytest.approx(sum(alone) / 3)


def test_the_weight_of_guided_alignment_follows_the_progress_and_costs_nothing_at_zero(monkeypatch):
    model, batch = make_loss_module().model, make_batch([3, 7, 2])
    points = PiecewiseLinear(((0.0, 0.8), (0.5, 0.0)))
    loss_module = TranslationLoss(model, 0.1, True, guide(points))
    plain = TranslationLoss(model, 0.1, True)(batch).objective.item()
    extra = []
    for progress in (0.0, 0.25, 0.5, 1.0):
        loss_module.set_progress(progress)
        extra.append(loss_module(batch).objective.item() - plain)
    assert extra[0] > 0 and extra[1] == pytest.approx(extra[0] / 2) and extra[2:] == [0, 0]
    monkeypatch.setattr(loss_module.forward_path, "forward_with_scores", None, raising=False)
    assert loss_module(batch).objective.item() == plain  # no scores are computed


def test_the_guided_heads_are_those_that_are_set_or_one_in_the_middle():
    def names(*changes: str) -> list[str]:
        return [str(head) for head in guided_heads(override(Config(), changes))]

    assert names() == [] and names("train.guided_alignment=0.3") == ["decoder.1.cross.0"]
    assert names("train.guided_alignment=0:0.3,1:0", "model.decoder_layers=2") == ["decoder.0.cross.0"]
    both = ("train.guided_alignment=1", "train.guided_heads=decoder.1.cross.3, decoder.3.cross.0")
    assert names(*both) == ["decoder.1.cross.3", "decoder.3.cross.0"]
    pruned = ("train.guided_alignment=1", 'model.pruned=["decoder.1.cross.0"]')
    assert names(*pruned) == ["decoder.1.cross.1"]


def test_the_middle_layer_is_guided():
    assert [guided_layer(n) for n in (1, 2, 3, 4, 6)] == [0, 0, 1, 1, 2]
