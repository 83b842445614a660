"""Subword regularization: the same texts in other tokens, by the seed of the batch alone."""

import pytest

from regard.errors import ConfigError
from regard.tasks.classify.collator import ClassifyCollator
from regard.tasks.classify.labels import LabelSet
from tests.tasks.conftest import TOKENIZER, make_wordpiece

LABELS = LabelSet(("a", "b", "c"), (2, 3, 5), 10)
TEXTS = ["the kings sleep .", "cats see a dog", "Paris sleeps in été ."] * 3
ROWS = TOKENIZER.encode(TEXTS, 31)
TARGETS = [[i % 3] for i in range(len(TEXTS))]


def collate(probability: float, seed: tuple[int, ...] = (1, 2, 3), max_length: int = 31, tokenizer=TOKENIZER):
    collator = ClassifyCollator(tokenizer, LABELS, subword_regularization=probability, max_length=max_length)
    batch = collator(ROWS, TARGETS, seed)
    rows = [[i for i in row if i != tokenizer.pad_id] for row in batch.ids.tolist()]
    return rows, batch


def test_sampled_segmentations_spell_the_same_texts_with_the_same_labels():
    rows, batch = collate(0.3)
    assert rows != ROWS
    assert [TOKENIZER.decode(row) for row in rows] == [TOKENIZER.decode(row) for row in ROWS]
    assert all(row[-1] == ROWS[0][-1] for row in rows)  # every text still ends in EOS
    assert batch.labels.tolist() == [target for (target,) in TARGETS] and batch.num_targets == len(TEXTS)


def test_the_noise_is_that_of_the_seed():
    assert collate(0.3)[0] == collate(0.3)[0]
    assert collate(0.3)[0] != collate(0.3, seed=(1, 2, 5))[0] != collate(0.3, seed=(1, 3, 3))[0]
    assert collate(0.0)[0] == ROWS


def test_a_segmentation_beyond_the_maximum_is_not_taken():
    longest = max(map(len, ROWS))
    rows, _ = collate(0.5, max_length=longest)
    assert max(map(len, rows)) <= longest and rows != ROWS
    assert [row for row, old in zip(rows, ROWS, strict=True) if len(old) == longest] == [
        row for row in ROWS if len(row) == longest
    ]


def test_wordpiece_is_refused_in_a_sentence():
    with pytest.raises(ConfigError, match=r"data\.subword_regularization=0\.3 needs a SentencePiece tokenizer"):
        collate(0.3, tokenizer=make_wordpiece())
