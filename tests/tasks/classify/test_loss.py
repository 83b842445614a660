"""The loss of classification: one target a text, by whatever path and pooling."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.batch import Collator
from regard.model.build import POOLINGS
from regard.tasks.classify.collator import ClassifyCollator
from regard.tasks.classify.labels import LabelSet
from regard.tasks.classify.loss import ClassificationLoss, MultiLabelLoss, WeightedLoss, make_label_loss
from regard.tasks.loss import RDrop, TokenLoss
from regard.tasks.text_batch import TextBatch
from tests.tasks.conftest import TOKENIZER, make_stack

ONE = LabelSet(("a", "b", "c", "d", "e"), (40, 1, 7, 3, 11), 62)
SEVERAL = replace(ONE, multi_label=True)
LOSSES = {"one": (ONE, False), "balanced": (ONE, True), "several": (SEVERAL, False)}
LENGTHS = [3, 11, 7, 1, 2, 5, 13, 4]


def make_loss(
    kind: str = "one", smoothing: float = 0.1, padding_free: bool = False, stack: str = "encoder", **settings
) -> ClassificationLoss:
    labels, balance = LOSSES[kind]
    model = make_stack(5, stack, **settings)
    return ClassificationLoss(model, make_label_loss(model.output, labels, smoothing, balance), padding_free).double()


def make_batch(kind: str = "one", lengths: list[int] = LENGTHS, token_types: bool = False) -> TextBatch:
    generator = torch.Generator().manual_seed(5)
    sources = [torch.randint(4, TOKENIZER.vocab_size, (n,), generator=generator).tolist() for n in lengths]
    targets = [[i % 5] for i in range(len(lengths))]
    if kind == "several":
        targets = [[], [0, 3], [1], [0, 1, 2, 3, 4], [4], [2, 4], [], [3]][: len(lengths)]
    collator: Collator = ClassifyCollator(TOKENIZER, LOSSES[kind][0], token_types)
    return collator(sources, targets, (1,))


def cut(batch: TextBatch, rows: slice) -> TextBatch:
    return TextBatch(batch.ids[rows], batch.labels[rows], len(batch.ids[rows]))


def gradients(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_losses_are_those_of_pytorch(smoothing: float):
    states = torch.randn(7, 22).double()
    output = make_stack(5).output
    labels = torch.tensor([3, 1, 4, 1, 0, 2, 2])
    logits, weights = output(states), torch.tensor([0.3, 7.0, 1.1, 2.0, 0.9]).double()
    totals = WeightedLoss(output, smoothing, weights.tolist()).double()(states, labels)
    each = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="none")
    assert_close(totals.objective, (weights[labels] * each).sum(), rtol=1e-6, atol=1e-6)
    assert_close(totals.loss, F.cross_entropy(logits, labels, reduction="sum").detach())
    assert int(totals.correct) == int((logits.argmax(1) == labels).sum())
    yes = (torch.rand(7, 5) < 0.4).long()
    yes[2] = (logits[2] > 0).long()  # one text is right in everything
    totals = MultiLabelLoss(output, smoothing)(states, yes)
    smooth = (1 - smoothing) * yes.double() + smoothing / 2
    assert_close(totals.objective, F.binary_cross_entropy_with_logits(logits, smooth, reduction="sum"))
    assert_close(totals.loss, F.binary_cross_entropy_with_logits(logits, yes.double(), reduction="sum").detach())
    assert int(totals.correct) == int(((logits > 0).long() == yes).all(1).sum()) > 0


@pytest.mark.parametrize("kind", LOSSES)
def test_the_labels_of_texts_are_predicted_by_their_pooled_states(kind: str):
    module, batch = make_loss(kind), make_batch(kind)
    model = module.model
    rows = [ids[ids != 0][None] for ids in batch.ids]
    logits = model.output(torch.cat([model(row).mean(1) for row in rows]))
    one_by_one = module.loss.totals(
        logits.log_softmax(-1) if kind != "several" else F.logsigmoid(torch.stack((-logits, logits), -1)), batch.labels
    )
    for mine, theirs in zip(module(batch), one_by_one, strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("padding_free", [False, True])
def test_three_texts_and_five_are_eight(kind: str, padding_free: bool):
    module, whole = make_loss(kind, padding_free=padding_free), make_batch(kind)
    assert whole.num_targets == 8
    totals = module(whole)
    (totals.objective / whole.num_targets).backward()
    expected = gradients(module)
    module.zero_grad()
    parts = [cut(whole, slice(0, 3)), cut(whole, slice(3, 8))]
    for part in parts:
        (module(part).objective / 8).backward()
    for name, gradient in gradients(module).items():
        assert_close(gradient, expected[name], rtol=1e-9, atol=1e-12)
    assert_close(sum(module(part).loss for part in parts), totals.loss)
    assert sum(int(module(part).correct) for part in parts) == int(totals.correct)


@pytest.mark.parametrize("padding_free", [False, True])
def test_more_padding_changes_nothing(padding_free: bool):
    module, batch = make_loss(padding_free=padding_free), make_batch()
    wide = replace(batch, ids=F.pad(batch.ids, (0, 5)))
    for mine, theirs in zip(module(wide), module(batch), strict=True):
        assert_close(mine, theirs)


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("kl_weight", [None, 5.0])
def test_both_paths_have_the_same_loss_and_gradients(kind: str, pooling: str, stack: str, kl_weight: float | None):
    results = []
    for padding_free in (False, True):
        module = make_loss(kind, padding_free=padding_free, stack=stack, pooling=pooling)
        trained = module if kl_weight is None else RDrop(module, kl_weight)
        totals = trained.train()(make_batch(kind))
        totals.objective.backward()
        results.append({"objective": totals.objective.detach(), "loss": totals.loss, **gradients(module)})
    plain, fast = results
    assert plain.keys() == fast.keys()
    for name in plain:
        assert_close(fast[name], plain[name], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("padding_free", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
def test_rdrop_without_dropout_is_the_loss_and_with_it_punishes_difference(kind: str, padding_free: bool):
    module, batch = make_loss(kind, padding_free=padding_free), make_batch(kind)
    for mine, theirs in zip(RDrop(module, 5.0).train()(batch), module(batch), strict=True):
        assert_close(mine.double(), theirs.double())
    noisy = make_loss(kind, padding_free=padding_free, dropout=0.3).train()
    totals = []
    for weight in (2.0, 6.0):
        torch.manual_seed(1)
        totals.append(RDrop(noisy, weight)(batch))
    torch.manual_seed(1)
    p, q = (noisy.loss.predict(half) for half in noisy.states(batch.duplicate())[0].chunk(2))
    kl = F.kl_div(p, q, log_target=True, reduction="sum") + F.kl_div(q, p, log_target=True, reduction="sum")
    assert float(kl.detach()) > 0.01
    assert_close(totals[1].objective - totals[0].objective, kl)


def test_two_texts_are_told_apart_by_their_types_where_the_encoder_has_them():
    batch = make_batch(token_types=True)
    assert batch.token_type_ids is not None and make_batch().token_type_ids is None
    pairs = TOKENIZER.encode_pairs([("the kings", "sleep"), ("cats", "see a dog")], 64)
    batch = ClassifyCollator(TOKENIZER, ONE, token_types=True)(pairs, [[1], [3]], (1,))
    for padding_free in (False, True):
        module = make_loss(padding_free=padding_free, architecture="encoder", token_types=2)
        untyped = replace(batch, token_type_ids=None)
        assert not torch.allclose(module(batch).loss, module(untyped).loss)
        assert_close(module(replace(batch, token_type_ids=torch.zeros_like(batch.ids))).loss, module(untyped).loss)
        duplicate = batch.duplicate()
        assert_close(module(duplicate).loss, 2 * module(batch).loss)


def test_the_loss_is_chosen_by_the_labels():
    output = make_stack(5).output
    assert type(make_label_loss(output, ONE)) is TokenLoss and type(make_label_loss(output, SEVERAL)) is MultiLabelLoss
    balanced = make_label_loss(output, ONE, balance=True)
    assert isinstance(balanced, WeightedLoss) and balanced.class_weights.argmax() == 1
    assert set(balanced.state_dict()) == set(TokenLoss(output, 0.0).state_dict())  # nothing more to save
