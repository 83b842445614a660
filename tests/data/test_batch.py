"""Batches: everything once, nothing too large, in an order that is a function of (seed, epoch)."""

from dataclasses import replace
from itertools import chain, islice

import numpy as np
import pytest
import torch

from regard.data import batch as batches_room
from regard.data.batch import Batches, DataPosition, TranslationCollator, batches_by_length, collate
from regard.data.store import open_corpus, write_ids, write_texts
from regard.data.tokenizers.tokenizer import BOS, EOS, PAD, Tokenizers, train_tokenizer
from regard.errors import DataError
from regard.formats import Pair


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    rng = np.random.default_rng(3)
    words = ["a", "bb", "ccc", "dd", "e"]
    pairs = [
        Pair(" ".join(rng.choice(words, rng.integers(1, 23))), " ".join(rng.choice(words, rng.integers(1, 19))))
        for _ in range(307)
    ]
    joint = train_tokenizer([p.source for p in pairs], 280, "bpe")
    write_texts(folder, "x", pairs)
    write_ids(folder, "x", Tokenizers(joint, joint))
    return open_corpus(folder, "x", Tokenizers(joint, joint)), Tokenizers(joint, joint)


def make(corpus, **changes) -> Batches:
    sampling = changes.pop("subword_regularization", 0.0)
    settings = {"max_tokens": 211, "max_length": 512, "seed": 1, **changes}
    return Batches(corpus[0], TranslationCollator(corpus[1], sampling, settings["max_length"]), **settings)


def rows(batches: Batches, epoch: int) -> list[list[int]]:
    return [group[:, 0].tolist() for group in batches.plan_epoch(epoch)]


@pytest.mark.parametrize("pool", [1 << 17, 64])
def test_an_epoch_holds_every_pair_once_within_the_budget(corpus, monkeypatch, pool):
    monkeypatch.setattr(batches_room, "POOL", pool)
    monkeypatch.setattr(batches_room, "BLOCK", 8)
    batches = make(corpus)
    groups = rows(batches, 0)
    assert sorted(chain.from_iterable(groups)) == list(range(307))
    for number, group in enumerate(batches.plan_epoch(0)):
        assert (group[:, 1] == -1).all()
        batch = batches.make_batch(group, 0, number)
        size = max(batch.source.shape[1], batch.target_in.shape[1])
        assert len(group) * size <= 211 or len(group) == 1
    assert len(groups) < 1.4 * sum(map(len_of(corpus), range(307))) / 211


def len_of(corpus):
    return lambda i: max(len(corpus[0].source_ids[i]), len(corpus[0].target_ids[i])) + 1


def test_order_depends_on_seed_and_epoch_alone(corpus):
    assert rows(make(corpus), 3) == rows(make(corpus), 3)
    assert rows(make(corpus), 3) != rows(make(corpus), 4)
    assert rows(make(corpus), 3) != rows(make(corpus, seed=2), 3)


def test_a_curriculum_begins_with_epochs_of_short_sentences_first(corpus):
    plain, curriculum = make(corpus), make(corpus, curriculum_epochs=2)
    longest = [max(map(len_of(corpus), group)) for group in rows(curriculum, 1)]
    assert longest == sorted(longest) and len(set(longest)) > 7
    assert rows(curriculum, 0) != rows(curriculum, 1) == rows(make(corpus, curriculum_epochs=2), 1)
    assert sorted(chain.from_iterable(rows(curriculum, 1))) == list(range(307))
    assert rows(curriculum, 2) == rows(plain, 2)
    assert sorted(map(sorted, rows(curriculum, 1))) == sorted(map(sorted, rows(plain, 1)))  # the same batches
    whole = list(islice(curriculum.iterate_from(DataPosition()), 11))
    resumed = list(islice(curriculum.iterate_from(whole[4][0]), 6))
    assert all(torch.equal(a.source, b.source) for (_, a), (_, b) in zip(whole[5:], resumed, strict=True))


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_going_on_from_a_place_is_going_on(corpus, sampling):
    batches = make(corpus, subword_regularization=sampling)
    count = len(rows(batches, 0))
    whole = list(islice(batches.iterate_from(DataPosition()), count + 5))
    for cut in (0, 1, count - 1, count, count + 2):
        position = whole[cut - 1][0] if cut else DataPosition()
        rest = list(islice(batches.iterate_from(position), count + 5 - cut))
        assert [p for p, _ in rest] == [p for p, _ in whole[cut:]]
        for (_, mine), (_, theirs) in zip(rest, whole[cut:], strict=True):
            assert torch.equal(mine.source, theirs.source) and torch.equal(mine.target_out, theirs.target_out)


def test_sampled_batches_hold_the_same_text_in_other_pieces(corpus):
    plain, sampled = make(corpus), make(corpus, subword_regularization=0.3)
    group = next(plain.plan_epoch(0))
    one, two, again = plain.make_batch(group, 0, 0), sampled.make_batch(group, 0, 0), sampled.make_batch(group, 1, 0)
    decode = corpus[1].source.decode
    assert [decode(r) for r in one.source.tolist()] == [decode(r) for r in two.source.tolist()]
    assert one.num_targets < two.num_targets and two.source.tolist() != again.source.tolist()


def test_subword_regularization_begins_at_a_progress_of_training(corpus):
    plain, sampled = make(corpus), make(corpus, subword_regularization=0.3)
    late = replace(sampled, early_collator=plain.collator, early_until=0.5)
    progress = iter([0.0, 0.2, 0.49, 0.5, 0.8, 1.0])
    mixed = islice(late.iterate_from(DataPosition(), progress=lambda: next(progress)), 6)
    others = (islice(batches.iterate_from(DataPosition()), 6) for batches in (plain, sampled))
    for i, ((_, mine), (_, early), (_, regularized)) in enumerate(zip(mixed, *others, strict=True)):
        expected, other = (early, regularized) if i < 3 else (regularized, early)
        assert mine.source.tolist() == expected.source.tolist() != other.source.tolist()
        assert mine.target_out.tolist() == expected.target_out.tolist()


def test_a_batch_is_shifted_marked_and_padded_on_the_right():
    batch = collate([[5, 6], [7]], [[8], [9, 10, 11]])
    assert batch.source.tolist() == [[5, 6, EOS], [7, EOS, PAD]]
    assert batch.target_in.tolist() == [[BOS, 8, PAD, PAD], [BOS, 9, 10, 11]]
    assert batch.target_out.tolist() == [[8, EOS, PAD, PAD], [9, 10, 11, EOS]]
    assert batch.num_targets == 6 == int((batch.target_out != PAD).sum())


def test_pairs_that_are_too_long_are_left_out_and_counted(corpus):
    batches = make(corpus, max_length=11)
    seen = list(chain.from_iterable(rows(batches, 0)))
    assert len(seen) + batches.count_too_long() == 307 and 0 < len(seen) < 307
    assert all(len_of(corpus)(i) <= 11 for i in seen)


def test_nothing_that_fits_is_an_error_and_not_a_hang(corpus):
    with pytest.raises(DataError, match=r"no pair has at most data.max_length=2 tokens"):
        next(make(corpus, max_length=2).iterate_from(DataPosition()))


def test_checking_sees_every_pair_once(corpus):
    seen = [int(i) for group, _ in batches_by_length(corpus[0], 211) for i in group]
    assert sorted(seen) == list(range(307))


@pytest.mark.parametrize("sampling", [0.0, 0.2])
def test_joined_pairs_are_two_pairs_end_to_end(corpus, sampling):
    batches = make(corpus, concat_augment=0.5, subword_regularization=sampling)
    groups = list(batches.plan_epoch(0))
    pairs = np.concatenate(groups)
    joined = pairs[pairs[:, 1] >= 0]
    assert len(joined) == 307 // 2 and sorted(pairs[pairs[:, 1] < 0][:, 0].tolist()) == list(range(307))
    assert np.concatenate(list(batches.plan_epoch(1))).tolist() != pairs.tolist()
    texts, tokenizers = corpus
    for number, group in enumerate(groups):
        batch = batches.make_batch(group, 0, number)
        assert len(group) * max(batch.source.shape[1], batch.target_in.shape[1]) <= 211 or len(group) == 1 or sampling
        for row, ids in zip(group, batch.target_out.tolist(), strict=True):
            expected = " ".join(texts.target[i] for i in row if i >= 0)
            assert tokenizers.target.decode(ids) == expected


@pytest.mark.parametrize("max_length", [512, 13])
def test_epochs_are_counted_by_the_pairs_that_were_read(corpus, max_length: int):
    batches = make(corpus, max_length=max_length)
    num_pairs = sum(len(rows) for rows in batches.plan_epoch(0))
    assert batches.count_epochs(DataPosition()) == 0
    num_read = 0
    for position, batch in islice(batches.iterate_from(DataPosition()), 2 * batches.count_batches()):
        num_read += len(batch.source)
        assert batches.count_epochs(position) == pytest.approx(num_read / num_pairs)
