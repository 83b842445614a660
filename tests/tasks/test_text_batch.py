"""Batches of texts hold every text once, within the token budget."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.tasks import text_batch
from regard.tasks.text_batch import batch_by_length, pad_rows

LENGTHS = st.lists(st.integers(1, 23), max_size=31)


@settings(deadline=None)
@given(LENGTHS, st.sampled_from([1, 7, 23, 61, 4096]))
def test_texts_of_similar_length_fill_a_batch_up_to_its_budget(lengths: list[int], budget: int):
    rows = [[7] * length for length in lengths]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_batch, "MAX_TOKENS", budget)
        batches = batch_by_length(rows)
    assert sorted(i for batch in batches for i in batch) == list(range(len(rows)))
    ordered = [lengths[i] for batch in batches for i in batch]
    assert ordered == sorted(ordered)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget
    for batch, following in itertools.pairwise(batches):
        assert (len(batch) + 1) * lengths[following[0]] > budget


@given(st.lists(st.lists(st.integers(0, 9), max_size=7), min_size=1, max_size=5), st.integers(-9, -1))
def test_rows_are_filled_up_on_the_right(rows: list[list[int]], value: int):
    matrix = pad_rows(rows, value).tolist()
    assert [[number for number in row if number != value] for row in matrix] == rows
    assert {len(row) for row in matrix} == {max(map(len, rows))}
