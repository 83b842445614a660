"""The loss: real tokens only, summed, divided once."""

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.batch import Batch
from regard.data.tokenizers.tokenizer import PAD
from regard.tasks.loss import ChunkedLoss, RDrop, TokenLoss
from regard.tasks.translate.loss import TranslationLoss
from tests.model.conftest import SCHEMES, positions
from tests.training.conftest import make_batch, make_loss_module


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("padding_free", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_the_loss_is_the_cross_entropy_of_real_tokens(
    smoothing: float, padding_free: bool, biased: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("regard.kernels.cross_entropy.CHUNK", 5)  # several chunks, the last one shorter
    loss_module, batch = make_loss_module(smoothing, padding_free, output_bias=biased), make_batch([3, 7, 2])
    for parameter in loss_module.parameters():  # nothing that starts at zero may hide
        parameter.data += 0.1 * torch.randn_like(parameter)
    totals = loss_module(batch)
    logits = loss_module.model.output(loss_module.model(batch.source, batch.target_in)).flatten(0, 1)
    labels = batch.target_out.flatten()
    options = {"ignore_index": PAD, "reduction": "sum"}
    assert_close(totals.objective, F.cross_entropy(logits, labels, label_smoothing=smoothing, **options))
    assert_close(totals.loss, F.cross_entropy(logits, labels, **options))
    real = labels != PAD
    assert int(totals.correct) == int((logits.argmax(-1) == labels)[real].sum())


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_in_chunks_has_the_gradient_of_the_plain_one(
    smoothing: float, biased: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("regard.kernels.cross_entropy.CHUNK", 5)
    loss_module, batch = make_loss_module(smoothing, output_bias=biased), make_batch([3, 7, 2])
    states = torch.randn(batch.num_targets, 22, dtype=torch.double, requires_grad=True)
    output, labels = loss_module.model.output, loss_module.labels(batch)
    results = []
    for loss in (TokenLoss(output, smoothing), ChunkedLoss(output, smoothing)):
        results.append(torch.autograd.grad(loss(states, labels).objective * 3, (states, *output.parameters())))
    assert len(results[0]) == 2 + biased
    for mine, theirs in zip(*results, strict=True):
        assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


def test_more_padding_changes_neither_loss_nor_accuracy(loss_module: TranslationLoss):
    batch = make_batch([3, 7, 2])
    wide = Batch(
        *(F.pad(x, (0, 5), value=PAD) for x in (batch.source, batch.target_in, batch.target_out)),
        batch.num_targets,
    )
    for mine, theirs in zip(loss_module(batch), loss_module(wide), strict=True):
        assert_close(mine, theirs)


def test_accumulated_batches_equal_one_batch(loss_module: TranslationLoss):
    lengths = [3, 7, 2, 5, 5, 11, 1, 4]
    whole = make_batch(lengths)
    parts = [cut(whole, slice(0, 3)), cut(whole, slice(3, 8))]
    (loss_module(whole).objective / whole.num_targets).backward()
    expected = {name: p.grad.clone() for name, p in loss_module.named_parameters()}
    loss_module.zero_grad()
    tokens = sum(part.num_targets for part in parts)
    for part in parts:
        (loss_module(part).objective / tokens).backward()
    for name, p in loss_module.named_parameters():
        assert_close(p.grad, expected[name], rtol=1e-9, atol=1e-12)


def cut(batch: Batch, rows: slice) -> Batch:
    target = batch.target_out[rows]
    return Batch(batch.source[rows], batch.target_in[rows], target, int((target != PAD).sum()))


def test_rdrop_without_dropout_is_the_loss_and_with_it_the_formula():
    batch = make_batch([3, 7, 2])
    plain = make_loss_module()
    same = RDrop(plain, kl_weight=5.0)
    for mine, theirs in zip(same(batch), plain(batch), strict=True):
        assert_close(mine.double(), theirs.double())
    noisy = RDrop(make_loss_module(dropout=0.3), kl_weight=5.0)
    torch.manual_seed(1)
    results = noisy(batch)
    torch.manual_seed(1)
    states = noisy.model(batch.source.repeat(2, 1), batch.target_in.repeat(2, 1)).chunk(2)
    p, q = (noisy.model.output(s)[batch.target_out != PAD].log_softmax(-1) for s in states)
    labels = batch.target_out[batch.target_out != PAD]
    ce = sum(F.cross_entropy(x, labels, label_smoothing=0.1, reduction="sum") for x in (p, q))
    kl = F.kl_div(p, q, log_target=True, reduction="sum") + F.kl_div(q, p, log_target=True, reduction="sum")
    assert float(kl.detach()) > 0.1
    assert_close(results.objective, ce / 2 + 5.0 * kl / 4)
    assert_close(results.loss, sum(F.cross_entropy(x, labels, reduction="sum") for x in (p, q)).detach() / 2)
    for one, other in ((p, q), (q, p)):  # both halves count: one guesses the labels, the other does not
        guesses = one[:, 4:].argmax(-1) + 4  # a label is never a special token
        target = batch.target_out.clone()
        target[target != PAD] = guesses
        right, also_right = ((x.argmax(-1) == guesses).sum() for x in (one, other))
        torch.manual_seed(1)
        totals = noisy(Batch(batch.source, batch.target_in, target, batch.num_targets))
        assert float(totals.correct) == float(right + also_right) / 2 and right > also_right
    noisy.eval()
    assert_close(noisy(batch).loss, TranslationLoss(noisy.model, 0.1).eval()(batch).loss)


def test_without_gradients_the_loss_is_the_same_and_logits_are_never_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.tasks.loss.CHUNK", 5)
    loss_module, batch = make_loss_module(padding_free=True), make_batch([3, 7, 2])
    expected, projected = loss_module(batch), []
    loss_module.model.output.register_forward_hook(lambda _, rows, out: projected.append(len(out)))
    with torch.no_grad():
        results = loss_module(batch)
    assert sum(projected) == batch.num_targets and max(projected) == 5
    for mine, theirs in zip(results, expected, strict=True):
        assert_close(mine, theirs, check_dtype=False)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["once", "R-Drop"])
def test_both_paths_have_the_same_loss_and_gradients(kind: str, scheme: str, norm: str):
    for dtype, bound in ((torch.double, 1e-9), (torch.float, 1e-4)):
        results = []
        for padding_free in (False, True):
            loss_module = make_loss_module(padding_free=padding_free, positions=positions(scheme), norm=norm)
            if kind == "R-Drop":
                loss_module = RDrop(loss_module, 5.0)
            totals = loss_module.to(dtype).train()(make_batch([3, 11, 2]))
            totals.objective.backward()
            gradients = {name: p.grad for name, p in loss_module.named_parameters() if p.grad is not None}
            results.append({"objective": totals.objective.detach(), "loss": totals.loss, **gradients})
        plain, fast = results
        assert plain.keys() == fast.keys()
        for name in plain:
            assert float((fast[name] - plain[name]).abs().max()) <= bound * max(1.0, float(plain[name].abs().max()))


def test_dropout_leaves_mean_and_variance_of_both_paths_alike():
    draws = 3001
    batch = make_batch([7])
    source, target = (rows.repeat(draws, 1) for rows in (batch.source, batch.target_in))
    results = []
    for padding_free in (False, True):
        loss_module = make_loss_module(padding_free=padding_free, dropout=0.3).train()
        with torch.no_grad():
            results.append(loss_module.forward_path(source, target).unflatten(0, (draws, -1)))  # (draws, T, D)
    plain, fast = results
    apart = (fast.mean(dim=0) - plain.mean(dim=0)) / ((fast.var(dim=0) + plain.var(dim=0)) / draws).sqrt()
    assert float(apart.abs().max()) < 5  # standard errors
    assert_close(fast.var(dim=0), plain.var(dim=0), rtol=0.25, atol=1e-6)
