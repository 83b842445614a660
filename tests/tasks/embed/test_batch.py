"""Batches are cut by rows, at least two and at most as many as asked for; the same text has the same key anywhere."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from regard.data import store
from regard.formats import Pair
from regard.formats.related import RelatedTexts
from regard.tasks.embed.batch import RelatedCollator, RowBatches, cut_rows, key_of
from regard.tasks.embed.examples import restore_example, store_example
from regard.tasks.embed.rows import SIMILARITY_STEPS, encode_examples, separator_of, split_row
from tests.tasks.conftest import TOKENIZER

EXAMPLES = [
    RelatedTexts("the kings sleep", "cats see a dog", ("Paris", "a b c d e")),
    RelatedTexts("a dog", "cats", ("the kings sleep", "b")),
]
SEPARATOR = separator_of(TOKENIZER)


def collate(examples: list[RelatedTexts]):
    rows = list(encode_examples(examples, TOKENIZER, 64))
    return RelatedCollator(TOKENIZER)([list(row) for row, _ in rows], [list(target) for _, target in rows], (1,))


@pytest.mark.parametrize("seed", range(5))
def test_batches_have_every_row_once_in_order_and_no_more_than_allowed(seed: int):
    rng = np.random.default_rng(seed)
    rows, lengths = rng.permutation(101), rng.integers(1, 40, 101)
    for max_rows, max_tokens in ((7, 10_000), (64, 97), (2, 1), (1000, 10**9)):
        batches = list(cut_rows(rows, lengths, max_rows, max_tokens))
        joined = np.concatenate(batches)
        assert joined.tolist() == rows[: len(joined)].tolist() and len(rows) - len(joined) <= 1
        spans = list(pairwise(np.cumsum([0, *map(len, batches)])))
        for begin, end in spans:
            assert 2 <= end - begin <= max_rows and (end - begin == 2 or lengths[begin:end].sum() <= max_tokens)
        for begin, end in spans[:-1]:  # another row would have been too many
            assert end - begin == max_rows or lengths[begin : end + 1].sum() > max_tokens


def test_two_halves_of_a_batch_are_the_batch():
    rows, lengths = np.arange(12), np.ones(12)
    assert [len(batch) for batch in cut_rows(rows, lengths, 6, 100)] == [6, 6]
    assert [len(batch) for batch in cut_rows(rows, lengths, 3, 100)] == [3, 3, 3, 3]


def test_a_row_is_its_texts_and_a_similarity_a_number_of_steps():
    examples = [*EXAMPLES, RelatedTexts("one", "two", similarity=0.57), RelatedTexts("single")]
    for example, (row, target) in zip(examples, encode_examples(examples, TOKENIZER, 64), strict=True):
        texts = [example.text, example.positive or example.text, *example.negatives]
        assert split_row(row, SEPARATOR) == TOKENIZER.encode(texts, 64)
        expected = [] if example.similarity is None else [round(SIMILARITY_STEPS * example.similarity)]
        assert target == expected
        assert restore_example(store_example(example)) == example
    ((long, _),) = encode_examples([RelatedTexts("a b c d e f g", "a")], TOKENIZER, 3)
    assert [len(text) for text in split_row(long, SEPARATOR)] == [3, 2]


def test_a_batch_has_texts_then_positives_then_negatives():
    batch = collate(EXAMPLES)
    texts = ["the kings sleep", "a dog", "cats see a dog", "cats", "Paris", "the kings sleep", "a b c d e", "b"]
    assert [ids[ids != 0].tolist() for ids in batch.ids] == TOKENIZER.encode(texts, 64)
    assert batch.num_targets == 2 and batch.similarities is None
    assert (batch.keys[0] == batch.keys[5]) and len(set(batch.keys.tolist())) == 7
    assert batch.keys.tolist() == [key_of(ids) for ids in TOKENIZER.encode(texts, 64)]
    assert collate([RelatedTexts("a", "b", similarity=3.0)]).similarities.tolist() == [30_000]


def test_a_single_text_is_its_own_positive():
    """It counts twice, as a pair with the same texts does: both views are embedded."""
    single, pair = (encode_examples([RelatedTexts("a dog", other)], TOKENIZER, 64) for other in (None, "a dog"))
    assert [row for row, _ in single] == [row for row, _ in pair]
    batch = collate([RelatedTexts("a dog"), RelatedTexts("cats")])
    assert torch.equal(batch.ids[:2], batch.ids[2:]) and batch.keys.tolist() == [*batch.keys[:2].tolist()] * 2


def test_shuffled_inputs_are_other_texts_for_the_same_positives():
    batch = collate(EXAMPLES)
    shuffled = batch.shuffle_inputs()
    assert torch.equal(shuffled.ids[:2], batch.ids[[1, 0]]) and torch.equal(shuffled.ids[2:], batch.ids[2:])
    assert torch.equal(shuffled.keys[:2], batch.keys[[1, 0]])
    assert collate(EXAMPLES[:1]).shuffle_inputs() is None


def test_every_epoch_has_another_order_and_the_same_one_again(tmp_path):
    examples = [RelatedTexts(f"{i} a", f"{i} b") for i in range(31)]
    store.write_texts(tmp_path, "x", (Pair("", "") for _ in examples))
    sizes = (SEPARATOR + 1, 7)
    store.write_rows(tmp_path, "x", encode_examples(examples, TOKENIZER, 64), sizes)
    corpus = store.open_rows(tmp_path, "x", sizes)
    batches = RowBatches(corpus, RelatedCollator(TOKENIZER), 10_000, 64, seed=3, max_rows=7)
    epochs = [[rows[:, 0].tolist() for rows in batches.plan_epoch(epoch)] for epoch in (0, 1, 0)]
    other = replace(batches, seed=4)
    assert [rows[:, 0].tolist() for rows in other.plan_epoch(0)] != epochs[0]
    assert epochs[0] == epochs[2] != epochs[1] and [len(rows) for rows in epochs[0]] == [7, 7, 7, 7, 3]
    assert batches.count_too_long() == 0 and batches.make_batch(next(batches.plan_epoch(0)), 0, 0).num_targets == 7
