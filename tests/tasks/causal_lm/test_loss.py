"""The loss of a document is its own: neighbors, padding and windows that see the same change nothing."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.model.build import build_decoder
from regard.tasks.causal_lm.loss import CausalLMLoss
from regard.tasks.causal_lm.windows import WindowCollator, gather_windows, validation_windows
from regard.tasks.loss import RDrop
from regard.tasks.text_batch import IGNORED
from tests.tasks.causal_lm.conftest import SMALL

PAD = 0


@pytest.fixture
def loss_module(document_tokenizer) -> CausalLMLoss:
    model = build_decoder(SMALL, document_tokenizer.vocab_size, PAD).double()
    return CausalLMLoss(model, label_smoothing=0.1).eval()


def batch_of(corpus, *rows):
    return WindowCollator()(*gather_windows(corpus, np.asarray(rows), 2, 3), ())


def whole(corpus, document: int) -> tuple[int, int, int, int]:
    return document, 0, 0, len(corpus.target_ids[document]) + 1


@torch.no_grad()
def test_the_loss_of_a_document_does_not_depend_on_its_neighbors(loss_module, document_corpus):
    count = len(document_corpus)
    together = batch_of(document_corpus, *(whole(document_corpus, d) for d in range(count)))
    for document in range(count):
        alone = loss_module(batch_of(document_corpus, whole(document_corpus, document)))
        labels = together.labels.clone()
        labels[torch.arange(count) != document] = IGNORED
        for own, value in zip(alone, loss_module(replace(together, labels=labels)), strict=True):
            assert float(own) == pytest.approx(float(value), rel=1e-12)


@torch.no_grad()
def test_the_loss_is_that_of_the_probabilities_of_the_tokens(loss_module, document_corpus):
    batch = batch_of(document_corpus, whole(document_corpus, 6), whole(document_corpus, 3))
    model = loss_module.model
    logp = model.output(model(batch.ids)).log_softmax(dim=-1)  # (B, T, V)
    gold = [logp[b, t, batch.labels[b, t]] for b, t in (batch.labels != IGNORED).nonzero().tolist()]
    assert len(gold) == batch.num_targets
    assert float(loss_module(batch).loss) == pytest.approx(float(-sum(gold)), rel=1e-12)


@torch.no_grad()
def test_a_token_is_predicted_from_those_before_it_alone(loss_module, document_corpus):
    """The first half of a window has the loss that it has without the second."""
    document = 8
    totals = [float(loss_module(batch_of(document_corpus, (document, 0, 0, end))).loss) for end in (7, 11)]
    rest = float(loss_module(batch_of(document_corpus, (document, 0, 7, 11))).loss)
    assert totals[0] + rest == pytest.approx(totals[1], rel=1e-12)


@torch.no_grad()
def test_validation_of_short_documents_is_their_loss(loss_module, document_corpus):
    longest = 1 + max(len(document_corpus.target_ids[d]) for d in range(len(document_corpus)))
    windows = validation_windows(document_corpus, 211, longest)
    alone = [
        loss_module(batch_of(document_corpus, whole(document_corpus, d))).loss for d in range(len(document_corpus))
    ]
    assert float(sum(loss_module(batch).loss for _, batch in windows)) == pytest.approx(float(sum(alone)), rel=1e-12)


def test_only_targets_are_projected(loss_module, document_corpus):
    batch = batch_of(document_corpus, (8, 5, 11, 18), (7, 0, 0, 3))
    states, _ = loss_module.states(batch)
    assert len(states) == len(loss_module.labels(batch)) == batch.num_targets == 7 + 3


def test_gradients_are_those_of_the_objective(loss_module, document_corpus):
    batch = batch_of(document_corpus, (8, 5, 11, 18), whole(document_corpus, 1))
    totals = loss_module(batch)
    totals.objective.backward()
    weight = loss_module.model.output.weight
    direction = torch.randn_like(weight)
    with torch.no_grad():
        weight += 1e-6 * direction
        above = loss_module(batch).objective
        weight -= 2e-6 * direction
        below = loss_module(batch).objective
    assert float((weight.grad * direction).sum()) == pytest.approx(float(above - below) / 2e-6, rel=1e-5)


@torch.no_grad()
def test_rdrop_can_wrap_it(loss_module, document_corpus):
    batch = batch_of(document_corpus, (8, 5, 11, 18), whole(document_corpus, 1))
    assert float(RDrop(loss_module, 1.0).eval()(batch).objective) == float(loss_module(batch).objective)
    for module in loss_module.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    wrapped = RDrop(loss_module, 1.0).train()
    loss_module.model.eval()
    assert float(wrapped(batch).objective) == pytest.approx(float(loss_module(batch).objective), rel=1e-9)
