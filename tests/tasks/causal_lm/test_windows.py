"""Windows: every token of a document is a target once, in an order that is a function of (seed, epoch)."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import batch as batches_room
from regard.data.batch import DataPosition
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD
from regard.tasks.causal_lm.windows import (
    WindowBatches,
    WindowCollator,
    cut_overlapping_windows,
    cut_windows,
    validation_windows,
)
from regard.tasks.text_batch import IGNORED

LENGTH = 13
LENGTHS = st.lists(st.integers(1, 97), min_size=1, max_size=11)


def make(corpus, **changes) -> WindowBatches:
    return WindowBatches(corpus, WindowCollator(), **{"max_tokens": 71, "max_length": LENGTH, "seed": 3} | changes)


def targets_of(corpus, planned_batches) -> Counter:
    """(document, number of the prediction) of every target, each checked against the document's tokens."""
    counts: Counter = Counter()
    for rows, batch in planned_batches:
        assert batch.num_targets == int((batch.labels != IGNORED).sum())
        for (document, begin, _, end), ids, labels in zip(rows.tolist(), batch.ids, batch.labels, strict=True):
            tokens = corpus.target_ids[document].tolist()
            assert ids.tolist() == [BOS, *tokens][begin:end] + [PAD] * (len(ids) - (end - begin))
            wanted = [*tokens, EOS][begin:end]
            for position, label in enumerate(labels.tolist()):
                assert label == IGNORED or label == wanted[position]
                if label != IGNORED:
                    counts[document, begin + position] += 1
    return counts


def all_targets(corpus) -> Counter:
    return Counter((d, i) for d in range(len(corpus)) for i in range(len(corpus.target_ids[d]) + 1))


@pytest.mark.parametrize("pool", [1 << 17, 4])
def test_every_token_of_every_document_is_a_target_once_an_epoch(document_corpus, monkeypatch, pool):
    monkeypatch.setattr(batches_room, "POOL", pool)
    monkeypatch.setattr(batches_room, "BLOCK", 2)
    batches = make(document_corpus)
    for epoch in (0, 5):
        planned = [(rows, batches.make_batch(rows, epoch, i)) for i, rows in enumerate(batches.plan_epoch(epoch))]
        assert targets_of(document_corpus, planned) == all_targets(document_corpus)
        assert all(batch.ids.shape[1] <= LENGTH and batch.ids.numel() <= 71 for _, batch in planned)


def test_validation_scores_every_token_once_with_half_a_window_before_it(document_corpus):
    batches = list(validation_windows(document_corpus, 71, LENGTH))
    assert targets_of(document_corpus, batches) == all_targets(document_corpus)
    assert all(batch.ids.shape[1] <= LENGTH and batch.ids.numel() <= 71 for _, batch in batches)
    for rows, _ in batches:
        _, begin, first_target, _ = rows.T
        assert ((begin == 0) | (first_target - begin >= LENGTH // 2)).all()
    again = validation_windows(document_corpus, 71, LENGTH)
    assert all(torch.equal(a.ids, b.ids) for (_, a), (_, b) in zip(batches, again, strict=True))


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 19), st.integers(0, 99))
def test_windows_are_full_but_for_the_first_and_the_last(lengths, max_length, seed):
    lengths = np.asarray(lengths)
    offsets = np.random.default_rng(seed).integers(1, max_length + 1, len(lengths))
    windows = cut_windows(np.arange(len(lengths)), lengths, max_length, offsets)
    for document, length in enumerate(lengths.tolist()):
        rows = windows[windows[:, 0] == document]
        assert rows[0, 1] == 0 and rows[-1, 3] == length and (rows[1:, 1] == rows[:-1, 3]).all()
        sizes = (rows[:, 3] - rows[:, 1]).tolist()
        assert min(sizes) >= 1 and all(size == max_length for size in sizes[1:-1])
        assert len(sizes) == 1 if length <= max_length else sizes[0] == offsets[document]


@settings(deadline=None)
@given(LENGTHS, st.integers(2, 19))
def test_overlapping_windows_predict_everything_once(lengths, max_length):
    windows = cut_overlapping_windows(np.arange(len(lengths)), np.asarray(lengths), max_length, max_length // 2)
    for document, length in enumerate(lengths):
        rows = windows[windows[:, 0] == document]
        assert [i for _, _, first, end in rows for i in range(first, end)] == list(range(length))
        assert (rows[:, 3] - rows[:, 1] <= max_length).all()


def plan(batches: WindowBatches, epoch: int) -> list:
    return [rows.tolist() for rows in batches.plan_epoch(epoch)]


def test_windows_are_a_function_of_seed_and_epoch(document_corpus):
    assert plan(make(document_corpus), 2) == plan(make(document_corpus), 2)
    borders = [
        {tuple(row) for rows in plan(make(document_corpus, seed=seed), epoch) for row in rows}
        for seed, epoch in ((3, 2), (3, 4), (5, 2))
    ]
    assert len({frozenset(windows) for windows in borders}) == 3


def test_windows_of_a_document_are_spread_over_batches(document_corpus):
    """A batch of neighbors would be a batch of one document."""
    begins, ends = [
        {(number, row[0], row[column]) for number, rows in enumerate(plan(make(document_corpus), 0)) for row in rows}
        for column in (1, 3)
    ]
    windows = sum(len(rows) for rows in plan(make(document_corpus), 0))
    assert len(begins & ends) < windows / 4


def test_going_on_from_a_position_is_going_on(document_corpus):
    batches = make(document_corpus)
    count = batches.count_batches()
    read = list(islice(batches.iterate_from(DataPosition()), 2 * count))
    position, _ = read[count // 2]
    resumed = islice(batches.iterate_from(position), count)
    for (a, first), (b, second) in zip(read[count // 2 + 1 :], resumed, strict=False):
        assert a == b and torch.equal(first.ids, second.ids) and torch.equal(first.labels, second.labels)


def test_epochs_are_counted_by_tokens(document_corpus):
    batches = make(document_corpus)
    count = len(plan(batches, 1))
    targets = sum(len(document_corpus.target_ids[d]) + 1 for d in range(len(document_corpus)))
    first = batches.make_batch(next(iter(batches.plan_epoch(1))), 1, 0)
    assert batches.count_epochs(DataPosition(1, 1)) == pytest.approx(1 + first.num_targets / targets)
    assert batches.count_epochs(DataPosition(1, count)) == 2
    assert batches.count_too_long() == 0
