"""The loss of tagging: one target a word, at its first token."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from regard.data.batch import Collator
from regard.tasks.loss import RDrop
from regard.tasks.tag.collator import TagCollator
from regard.tasks.tag.loss import TaggingLoss
from regard.tasks.tag.tags import TagSet
from regard.tasks.text_batch import IGNORED, TextBatch
from tests.model.conftest import SCHEMES, positions
from tests.tasks.conftest import TOKENIZER, WORDS, make_stack

TAGS = TagSet.of([["B-x", "I-x", "O"], ["B-y"]])


def make_loss(padding_free: bool = False, stack: str = "encoder", **settings) -> TaggingLoss:
    return TaggingLoss(make_stack(5, stack, **settings), 0.1, padding_free)


def make_batch(lengths: tuple[int, ...] = (3, 11, 7, 1, 2, 5, 13, 4), max_length: int = 64) -> TextBatch:
    sentences = [[WORDS[(i + n) % len(WORDS)] for i in range(n)] for n in lengths]
    tags = [[("O", "B-x", "I-x", "B-y")[(i * n) % 4] for i in range(n)] for n in lengths]
    encoded = TOKENIZER.encode_words(sentences, max_length)
    collator: Collator = TagCollator(TOKENIZER)
    targets = [TAGS.make_targets(*row) for row in zip(encoded, tags, strict=True)]
    return collator([row.ids for row in encoded], targets, (1,))


def gradients(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


def test_targets_are_words_and_first_tokens_alone_are_projected():
    batch, module = make_batch(), make_loss()
    assert batch.num_targets == 3 + 11 + 7 + 1 + 2 + 5 + 13 + 4 == int((batch.labels != IGNORED).sum())
    assert make_batch((7,), max_length=5).num_targets < 7  # words beyond the maximum length are no targets
    projected = []
    module.model.output.register_forward_hook(lambda _, rows, out: projected.append(len(out)))
    totals = module(batch)
    assert projected == [batch.num_targets] and batch.num_targets < int((batch.ids != 0).sum()) / 1.3
    logits = module.model.output(module.model(batch.ids)).flatten(0, 1)
    expected = F.cross_entropy(logits, batch.labels.flatten(), label_smoothing=0.1, reduction="sum")
    assert_close(totals.objective, expected)
    assert int(totals.correct) == int((logits.argmax(1) == batch.labels.flatten()).sum())


@pytest.mark.parametrize("padding_free", [False, True])
def test_three_sentences_and_five_are_eight_and_padding_changes_nothing(padding_free: bool):
    module, whole = make_loss(padding_free), make_batch()
    totals = module(whole)
    (totals.objective / whole.num_targets).backward()
    expected = gradients(module)
    module.zero_grad()
    wide = F.pad(whole.ids, (0, 5)), F.pad(whole.labels, (0, 5), value=IGNORED)
    parts = [TextBatch(whole.ids[:3], whole.labels[:3], 0), TextBatch(wide[0][3:], wide[1][3:], 0)]
    for part in parts:
        (module(part).objective / whole.num_targets).backward()
    for name, gradient in gradients(module).items():
        assert_close(gradient, expected[name], rtol=1e-9, atol=1e-12)
    assert_close(sum(module(part).loss for part in parts), totals.loss)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("kl_weight", [None, 5.0])
def test_both_paths_have_the_same_loss_and_gradients(scheme: str, stack: str, kl_weight: float | None):
    results = []
    for padding_free in (False, True):
        module = make_loss(padding_free, stack, positions=replace_length(scheme))
        trained = module if kl_weight is None else RDrop(module, kl_weight)
        totals = trained.train()(make_batch((3, 5, 1)))
        totals.objective.backward()
        results.append({"objective": totals.objective.detach(), "loss": totals.loss, **gradients(module)})
    plain, fast = results
    assert plain.keys() == fast.keys()
    for name in plain:
        assert_close(fast[name], plain[name], rtol=1e-9, atol=1e-11)


def replace_length(scheme: str):
    return positions(scheme).model_copy(update={"length": 61})


@pytest.mark.parametrize("padding_free", [False, True])
def test_rdrop_without_dropout_is_the_loss_and_with_it_punishes_difference(padding_free: bool):
    module, batch = make_loss(padding_free), make_batch()
    for mine, theirs in zip(RDrop(module, 5.0).train()(batch), module(batch), strict=True):
        assert_close(mine.double(), theirs.double())
    noisy, totals = make_loss(padding_free, dropout=0.3).train(), []
    for weight in (2.0, 6.0):
        torch.manual_seed(1)
        totals.append(RDrop(noisy, weight)(batch))
    torch.manual_seed(1)
    p, q = (noisy.loss.predict(half) for half in noisy.states(batch.duplicate())[0].chunk(2))
    kl = F.kl_div(p, q, log_target=True, reduction="sum") + F.kl_div(q, p, log_target=True, reduction="sum")
    assert float(kl.detach()) > 0.01
    assert_close(totals[1].objective - totals[0].objective, kl)


def test_a_batch_without_targets_has_no_loss():
    batch = make_batch((3, 2))
    empty = replace(batch, labels=torch.full_like(batch.labels, IGNORED), num_targets=0)
    for padding_free in (False, True):
        assert [float(total.detach()) for total in make_loss(padding_free)(empty)] == [0, 0, 0]
