"""What the loss of masks sees: hidden tokens at their positions, and both sides of them."""

import pytest
import torch

from regard.model import masks
from regard.tasks.masked_lm.masking import FixedMaskingCollator, MaskingCollator
from regard.tasks.text_batch import IGNORED
from tests.tasks.masked_lm.conftest import MASK


@torch.no_grad()
def test_the_loss_is_that_of_the_hidden_tokens(trained, tokenizer, rows):
    batch = FixedMaskingCollator(tokenizer, 0.3)(rows, [], ())
    logp = trained.model.output(trained.model(batch.ids)).log_softmax(dim=-1)
    gold = [logp[b, t, batch.labels[b, t]] for b, t in (batch.labels != IGNORED).nonzero().tolist()]
    states, _ = trained.states(batch)
    assert len(gold) == batch.num_targets == len(states)
    assert float(trained(batch).loss) == pytest.approx(float(-sum(gold)), rel=1e-4)


@torch.no_grad()
def test_four_sentences_are_learned(trained, tokenizer, rows):
    batch = FixedMaskingCollator(tokenizer, 0.2)(rows, [], ())
    assert float(trained(batch).correct) / batch.num_targets > 0.7


@torch.no_grad()
def test_hiding_the_position_too_makes_all_masks_of_a_sentence_alike(trained, tokenizer, rows):
    """Hence the mask replaces the token alone: otherwise the model could only predict one word for all of them."""
    batch = MaskingCollator(tokenizer, 0.5)([rows[3]], [], (3,))
    hidden = batch.ids == MASK
    assert int(hidden.sum()) > 3
    position_ids = masks.position_ids_of(batch.ids).expand_as(batch.ids)
    seen, constant = (
        trained.loss.predict(trained.model(batch.ids, position_ids=positions)[hidden])
        for positions in (position_ids, position_ids.masked_fill(hidden, 0))
    )
    assert (constant - constant[:1]).abs().max() < 1e-4
    assert (seen - seen[:1]).abs().max() > 0.1
    assert len(set(seen.argmax(dim=1).tolist())) > 1
