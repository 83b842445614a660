"""Spans are drawn as their papers define them, and what is hidden comes back."""

import itertools
import math

import numpy as np
import pytest

from regard.data.batch import Batch
from regard.data.tokenizers.text_tokenizer import MASK_TOKEN, SentencePieceText
from regard.data.tokenizers.tokenizer import PAD, train_tokenizer
from regard.errors import DataError
from regard.tasks.denoise.noise import (
    DenoisingCollator,
    FixedDenoisingCollator,
    SpansTarget,
    find_marks,
    make_target,
    mark_of,
    sentinel_of,
)
from regard.tasks.denoise.spans import SPAN_SCHEMES, SpanCorruption, TextInfilling, divide, draw_lengths
from tests.tasks.conftest import TEXTS

SENTINELS = 37
SYMBOLS = (MASK_TOKEN, mark_of("en"), mark_of("fr"), *map(sentinel_of, range(SENTINELS)))
TOKENIZER = SentencePieceText(train_tokenizer(TEXTS, 347, "bpe", SYMBOLS))
SCHEMES = [TextInfilling(0.3, 3.0), SpanCorruption(0.15, 3.0), TextInfilling(0.7, 1.0), SpanCorruption(0.6, 2.0)]
WORD_STARTS = np.array([True, False, True, True, False] * 23)


def make_rows(count: int) -> list[list[int]]:
    rng = np.random.default_rng(5)
    regular = [i for i in range(4, TOKENIZER.vocab_size) if TOKENIZER.tokenizer.decode([i])]
    return [rng.choice(regular, n % 43).tolist() for n in range(count)]


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_spans_are_in_order_do_not_overlap_and_hide_no_more_than_their_share(scheme):
    rng = np.random.default_rng(3)
    for length in (1, 2, 3, 5, 11, 41, 113):
        starts_word = WORD_STARTS[:length]
        for _ in range(53):
            spans = scheme.draw(starts_word, rng)
            assert all(0 <= begin <= end <= length for begin, end in spans)
            assert all(a.end <= b.begin for a, b in itertools.pairwise(spans))
            assert length - sum(end - begin for begin, end in spans) + len(spans) <= length
            if isinstance(scheme, TextInfilling):
                borders = {*np.flatnonzero(starts_word).tolist(), length}
                num_words = sum(int(starts_word[begin:end].sum()) for begin, end in spans)
                assert num_words <= math.ceil(scheme.rate * starts_word.sum())
                assert all({begin, end} <= borders for begin, end in spans if begin < end)  # whole words
            elif length > 1:
                hidden = sum(end - begin for begin, end in spans)
                assert hidden == min(max(round(scheme.rate * length), 1), length - 1)


def test_poisson_lengths_sum_up_to_the_budget():
    """All but the last are Poisson distributed: their shares are within four standard errors."""
    rng, mean = np.random.default_rng(7), 3.0
    lengths = []
    for budget in (1, 2, 29, 30_011):
        drawn = draw_lengths(budget, mean, rng)
        assert sum(drawn) == budget and drawn[-1] > 0
        lengths += drawn[:-1]
    assert draw_lengths(0, mean, rng) == []
    for k in range(9):
        p = math.exp(-mean) * mean**k / math.factorial(k)
        assert abs(lengths.count(k) / len(lengths) - p) < 4 * math.sqrt(p * (1 - p) / len(lengths))


def test_all_divisions_are_equally_likely():
    rng = np.random.default_rng(11)
    drawn = [tuple(divide(6, 3, rng).tolist()) for _ in range(5_000)]
    kinds = set(drawn)
    assert len(kinds) == math.comb(5, 2) and all(sum(kind) == 6 and min(kind) > 0 for kind in kinds)
    assert all(abs(drawn.count(kind) / 5_000 - 0.1) < 4 * math.sqrt(0.09 / 5_000) for kind in kinds)
    assert divide(5, 1, rng).tolist() == [5] and divide(3, 3, rng).tolist() == [1, 1, 1]


def test_empty_spans_insert_masks_as_often_as_lengths_of_zero_are_drawn():
    """One word, two tokens: a length of 0 before the length of 1 inserts a mask beside that of the word."""
    rng, scheme = np.random.default_rng(13), TextInfilling(0.3, 3.0)
    drawn = [scheme.draw(np.array([True, False]), rng) for _ in range(4_000)]
    expected = math.exp(-3.0)
    share = sum(len(spans) > 1 for spans in drawn) / len(drawn)
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(drawn))
    places = [spans.index((0, 2)) for spans in drawn if len(spans) > 1]
    assert 0.3 < np.mean(places) < 0.7  # before the word as often as behind it


@pytest.mark.parametrize("target", ["text", "spans"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_joined_spans_rebuild_the_text(scheme, target: str):
    collator = DenoisingCollator(TOKENIZER, scheme, make_target(target, TOKENIZER))
    for row in make_rows(87):
        noisy = collator.corrupt(row, (1, 2))
        assert collator.target.join(noisy.source, noisy.target) == row
        assert len(noisy.source) <= len(row) and len(noisy.target) <= len(row)
        assert len(noisy.is_hidden) == len(noisy.target)
        hidden = [token for token, is_hidden in zip(noisy.target, noisy.is_hidden, strict=True) if is_hidden]
        visible = [token for token in noisy.source if token not in collator.target.masks]
        assert sorted(hidden + visible) == sorted(row)
        if target == "spans":
            assert [token for token in noisy.target if token in collator.target.masks] == [
                token for token in noisy.source if token in collator.target.masks
            ]


@pytest.mark.parametrize("target", ["text", "spans"])
@pytest.mark.parametrize("name", SPAN_SCHEMES)
def test_nothing_is_hidden_at_a_rate_of_zero(name: str, target: str):
    collator = DenoisingCollator(TOKENIZER, SPAN_SCHEMES[name](0.0, 3.0), make_target(target, TOKENIZER))
    for row in make_rows(17):
        noisy = collator.corrupt(row, (1, 2))
        assert noisy.source == row and not any(noisy.is_hidden)
        assert noisy.target == (row if target == "text" else [])


def rows_of(batch: Batch) -> list[tuple[list[int], list[int]]]:
    sides = (batch.source.tolist(), batch.target_out.tolist())
    return [tuple([i for i in row if i != PAD] for row in pair) for pair in zip(*sides, strict=True)]


def test_the_noise_of_a_row_does_not_depend_on_its_batch():
    collator = DenoisingCollator(TOKENIZER, SCHEMES[3], make_target("text", TOKENIZER))  # of tokens: few begin a word
    rows = make_rows(31)
    together = rows_of(collator(rows, rows, (5, 3, 11)))
    assert [rows_of(collator([row, rows[2]], [], (5, 3, 2)))[0] for row in rows] == together
    others = [rows_of(collator(rows, rows, seed)) for seed in ((5, 4, 11), (6, 3, 11))]
    assert all(other != together for other in others) and others[0] != others[1]


def test_texts_of_one_length_have_noise_of_their_own():
    collator = DenoisingCollator(TOKENIZER, SCHEMES[3], make_target("text", TOKENIZER))
    rows = np.random.default_rng(5).integers(4, 250, (17, 29)).tolist()
    assert len({tuple(collator.corrupt(row, (5, 3)).is_hidden) for row in rows}) == len(rows)


def test_a_text_that_begins_inside_a_word_is_hidden_from_its_first_token_on():
    spans = TextInfilling(1.0, 3.0).draw(np.array([False, False, False, True]), np.random.default_rng(5))
    assert {token for begin, end in spans for token in range(begin, end)} >= {0, 1, 2}


class _FirstWords:
    """Draws two words for each span, and begins spans at the first words."""

    def poisson(self, mean: float) -> int:
        return 2

    def permutation(self, count: int) -> np.ndarray:
        return np.arange(count)


def test_a_span_that_begins_within_another_one_continues_it_to_its_own_end():
    assert TextInfilling(0.4, 3.0).draw(np.ones(10, bool), _FirstWords()) == [(0, 3)]


def test_a_sentinel_that_is_written_twice_stands_for_both_of_its_parts():
    target = SpansTarget((100, 101))
    assert target.join([7, 100, 8, 101], [100, 1, 101, 2, 100, 3]) == [7, 1, 3, 8, 2]


def test_the_noise_of_dev_depends_on_the_text_alone():
    collator = FixedDenoisingCollator(TOKENIZER, SCHEMES[3], make_target("text", TOKENIZER))
    rows = make_rows(31)
    assert rows_of(collator(rows, [], (3,))) == rows_of(collator(rows, [], (4,)))
    assert rows_of(collator(rows, [], ()))[::-1] == rows_of(collator(rows[::-1], [], ()))


@pytest.mark.parametrize("target", ["text", "spans"])
def test_the_mark_of_a_language_is_never_hidden_and_stands_first_on_both_sides(target: str):
    collator = DenoisingCollator(TOKENIZER, TextInfilling(0.9, 3.0), make_target(target, TOKENIZER))
    french = TOKENIZER.tokenizer.find_control_symbol("[fr]")
    assert french in find_marks(TOKENIZER) and len(find_marks(TOKENIZER)) == 2
    for row in make_rows(31):
        noisy = collator.corrupt([french, *row], (1, 1))
        assert noisy.source[0] == noisy.target[0] == french and not noisy.is_hidden[0]
        assert collator.target.join(noisy.source, noisy.target) == [french, *row]


def test_a_vocabulary_without_masks_is_refused():
    plain = SentencePieceText(train_tokenizer(TEXTS, 307, "bpe"))
    for target, token in (("text", r"\[MASK\]"), ("spans", r"\[SPAN0\]")):
        with pytest.raises(DataError, match=f"no token {token}, which denoise.target={target} needs"):
            make_target(target, plain)


def test_more_spans_than_sentinels_stay_visible():
    target = make_target("spans", TOKENIZER)
    row = make_rows(43)[-1] * 13
    noisy = DenoisingCollator(TOKENIZER, SpanCorruption(0.3, 1.0), target).corrupt(row, (1, 1))
    assert sum(token in target.masks for token in noisy.source) == SENTINELS
    assert target.join(noisy.source, noisy.target) == row
    assert target.join(noisy.source, []) == [token for token in noisy.source if token not in target.masks]
