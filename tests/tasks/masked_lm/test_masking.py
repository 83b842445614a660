"""Masks: a share of the tokens, never a special one, from the seed alone; the position stays."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import DataError
from regard.tasks.masked_lm.masking import FixedMaskingCollator, MaskingCollator
from regard.tasks.text_batch import IGNORED
from tests.tasks.masked_lm.conftest import EOS, MASK, PAD, SENTENCES, LetterTokenizer

TOKENIZER = LetterTokenizer(SENTENCES)
REGULAR = st.integers(5, TOKENIZER.vocab_size - 1)
ROWS = st.lists(st.lists(REGULAR, min_size=1, max_size=61).map(lambda ids: [2, *ids, EOS]), min_size=1, max_size=7)


@settings(deadline=None)
@given(ROWS, st.sampled_from([0.15, 0.4, 1.0]), st.sampled_from(["mask", "80/10/10"]), st.integers(0, 99))
def test_a_share_of_every_row_is_hidden_and_nothing_else_changes(rows, rate, scheme, seed):
    batch = MaskingCollator(TOKENIZER, rate, scheme)(rows, [], (seed, 1, 2))
    assert batch.num_targets == int((batch.labels != IGNORED).sum())
    for row, ids, labels in zip(rows, batch.ids.tolist(), batch.labels.tolist(), strict=True):
        targets = [i for i, label in enumerate(labels) if label != IGNORED]
        assert len(targets) == max(1, round(rate * (len(row) - 2)))
        assert all(labels[i] == row[i] and row[i] not in TOKENIZER.special_ids for i in targets)
        assert [i for i, token in enumerate(row) if ids[i] != token and i not in targets] == []
        assert ids[len(row) :] == [PAD] * (len(ids) - len(row))
        assert scheme != "mask" or all(ids[i] == MASK for i in targets)


@settings(deadline=None)
@given(ROWS, st.integers(0, 99))
def test_whole_words_are_hidden_as_a_whole(rows, seed):
    batch = MaskingCollator(TOKENIZER, 0.3, whole_words=True)(rows, [], (seed,))
    for row, labels in zip(rows, batch.labels.tolist(), strict=True):
        is_target = [label != IGNORED for label in labels[: len(row)]]
        for i in range(2, len(row) - 1):  # a token that continues a word shares the fate of the one before it
            assert TOKENIZER.starts_word(row)[i] or is_target[i] == is_target[i - 1]
        words = TOKENIZER.starts_word([0, *row[2:-1]]).count(True) + 1
        assert any(is_target) and (words == 1 or sum(is_target) < len(row) - 2)


def test_words_are_hidden_within_the_budget_if_one_fits(rows):
    collator = MaskingCollator(TOKENIZER, 0.3, whole_words=True)
    counts = [
        (collator.mask_row(row, np.random.default_rng(seed))[1].count(IGNORED), len(row))
        for row in rows
        for seed in range(31)
    ]
    assert all(length - ignored <= round(0.3 * (length - 1)) for ignored, length in counts)


def test_80_10_10_are_the_shares(rng):
    row = rng.integers(5, TOKENIZER.vocab_size, 20_011).tolist()
    ids, labels = map(np.array, MaskingCollator(TOKENIZER, 1.0, "80/10/10").mask_row(row, rng))
    assert (labels == row).all()
    regular = TOKENIZER.vocab_size - 5
    assert np.mean(ids == MASK) == pytest.approx(0.8, abs=0.01)
    assert np.mean(ids == labels) == pytest.approx(0.1 + 0.1 / regular, abs=0.01)
    replaced = ids[(ids != MASK) & (ids != labels)]
    assert set(replaced) == {1, *range(5, TOKENIZER.vocab_size)}  # the unknown token is a regular one


def test_masks_are_a_function_of_the_seed(rows):
    collator = MaskingCollator(TOKENIZER, 0.3, "80/10/10")
    first, same, *others = (
        collator(rows, [], seed).ids for seed in ((1, 0, 7), (1, 0, 7), (2, 0, 7), (1, 1, 7), (1, 0, 8))
    )
    assert torch.equal(first, same)
    assert not any(torch.equal(first, other) for other in others)


def test_fixed_masks_depend_on_the_text_alone(rows):
    collator = FixedMaskingCollator(TOKENIZER, 0.3)
    together = collator(rows, [], (1,))
    for i, row in enumerate(rows):
        alone = collator([row], [], (5, 7))
        assert torch.equal(alone.ids[0], together.ids[i, : len(row)])
    same_length = [[5 + i, 6, 7, 8, 9, 10, 11, EOS] for i in range(11)]
    assert len({tuple(row.tolist()) for row in collator(same_length, [], ()).ids == MASK}) > 5


def test_a_text_of_special_tokens_has_no_target():
    batch = MaskingCollator(TOKENIZER)([[EOS], [5, EOS]], [], (1,))
    assert batch.num_targets == 1 and batch.ids.tolist() == [[EOS, PAD], [MASK, EOS]]


def test_a_vocabulary_without_mask_is_refused():
    tokenizer = LetterTokenizer(SENTENCES)
    tokenizer.mask_id = None
    with pytest.raises(DataError, match=r"no token \[MASK\]"):
        MaskingCollator(tokenizer)
