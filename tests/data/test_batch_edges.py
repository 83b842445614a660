"""Batches at their limits: twice the batch, samples of a corpus, and lengths that just fit."""

import numpy as np
import pytest
import torch

from regard.data.batch import Batch, batches_by_length, bucket_by_length, collate
from regard.data.tokenizers.tokenizer import PAD
from tests.data.test_batch import corpus, len_of, make, rows

__all__ = ["corpus"]


def test_a_batch_twice_is_one_batch_of_the_same_sentences_twice():
    batch = collate([[5, 6], [7]], [[8], [9, 10, 11]])
    twice = batch.duplicate()
    for one, two in zip(
        (batch.source, batch.target_in, batch.target_out),
        (twice.source, twice.target_in, twice.target_out),
        strict=True,
    ):
        assert torch.equal(two, torch.cat((one, one)))
    assert twice.num_targets == 12 == int((twice.target_out != PAD).sum())
    assert isinstance(twice, Batch) and batch.to(torch.device("cpu")) is batch


@pytest.mark.parametrize("max_length", [5, 11, 17])
def test_each_pair_that_fits_is_read_and_no_other(corpus, max_length: int):
    fitting = [i for i in range(307) if len_of(corpus)(i) <= max_length]
    assert 0 < len(fitting) < 307
    batches = make(corpus, max_length=max_length)
    assert sorted(i for group in rows(batches, 0) for i in group) == fitting
    assert batches.count_too_long() == 307 - len(fitting)
    found = [int(i) for group, _ in batches_by_length(corpus[0], 211, max_length=max_length) for i in group]
    assert sorted(found) == fitting


def test_the_length_of_two_pairs_is_that_of_both(corpus):
    """The first pair of a corpus has the number 0, and may be the second of two."""
    single = len_of(corpus)
    found = make(corpus)._lengths(np.array([[3, 0], [0, -1], [5, 7]])).max(axis=0).tolist()
    sides = corpus[0].source_ids, corpus[0].target_ids
    together = [max(len(side[a]) + len(side[b]) for side in sides) + 1 for a, b in ((3, 0), (5, 7))]
    assert found == [together[0], single(0), together[1]]


@pytest.mark.parametrize("max_pairs", [1, 7, 100, 306, 307, 1000])
def test_a_sample_is_spread_over_the_corpus_and_never_larger_than_asked(corpus, max_pairs: int):
    groups = list(batches_by_length(corpus[0], 211, max_pairs=max_pairs))
    found = sorted(int(i) for group, _ in groups for i in group)
    assert len(found) <= max_pairs and len(found) > min(max_pairs, 307) / 2 and found[0] == 0
    assert len(set(np.diff(found).tolist())) <= 1  # evenly
    longest = [len_of(corpus)(int(i)) for group, _ in groups for i in group]
    assert longest == sorted(longest)
    for group, batch in groups:
        assert len(group) * max(batch.source.shape[1], batch.target_in.shape[1]) <= 211 or len(group) == 1
        texts = [corpus[1].target.decode(ids) for ids in batch.target_out.tolist()]
        assert texts == [corpus[0].target[int(i)] for i in group]


def plain_buckets(lengths: list[tuple[int, int]], max_tokens: int) -> list[list[int]]:
    """By the longer side, then by the source: a pair begins a new batch where the old one would be too large."""
    buckets: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: (max(lengths[row]), lengths[row][0])):
        if not buckets or (len(buckets[-1]) + 1) * max(lengths[row]) > max_tokens:
            buckets.append([])
        buckets[-1].append(row)
    return buckets


@pytest.mark.parametrize("max_tokens", [1, 12, 24, 60])
def test_batches_are_filled_to_the_last_token(max_tokens: int):
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 7, (2, 53))
    found = bucket_by_length(np.arange(53), lengths, max_tokens, None)
    expected = plain_buckets([tuple(column) for column in lengths.T.tolist()], max_tokens)
    assert [bucket.tolist() for bucket in found] == expected
    full = [bucket for bucket in expected if len(bucket) * lengths[:, bucket].max() == max_tokens]
    assert max_tokens == 1 or full  # some fill it exactly
