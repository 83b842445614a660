"""Segments divide documents, and lose nothing of what is summed over them."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.jobs.tasks.language.segments import (
    MAX_SEGMENT_BYTES,
    MIN_SEGMENT_BYTES,
    cut_segments,
    describe_units,
    sum_by_segment,
)

TEXT = st.text(st.sampled_from("aé\n "), min_size=1, max_size=40)


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=23), st.integers(1, 101))
def test_segments_divide_every_document(texts: list[str], repeats: int):
    texts = [text * repeats for text in texts]
    segments = cut_segments(texts)
    for number, text in enumerate(texts):
        own = [segment for segment in segments if segment.document == number]
        assert own[0].begin == 0 and own[-1].end == len(text.encode())
        assert all(a.end == b.begin for a, b in itertools.pairwise(own))
        assert len(texts) < 20 or len(own) == 1
        sizes = [one.end - one.begin for one in own]
        assert len(own) == 1 or (min(sizes) >= MIN_SEGMENT_BYTES // 2 and max(sizes) <= 2 * MAX_SEGMENT_BYTES)
    if len(texts) < 20 and sum(len(text.encode()) for text in texts) > 5000:
        assert len(segments) > 20  # enough for an interval
    assert describe_units(texts) == ("documents" if len(texts) >= 20 else "segments")


def test_segments_end_with_lines_where_they_can():
    text = ("x" * 70 + "\n") * 101
    ends = [segment.end for segment in cut_segments([text])]
    assert len(ends) > 2 and all(end % 71 == 0 for end in ends)


def test_values_are_summed_where_they_begin():
    texts = ["a" * 5003, "b" * 7, "c" * 4999]
    segments = cut_segments(texts)
    rng = np.random.default_rng(3)
    positions = [np.sort(rng.integers(0, len(text) + 1, 97)) for text in texts]
    values = [rng.random(97) for _ in texts]
    expected = []
    for segment in segments:
        is_last = segment.end == len(texts[segment.document])
        where = positions[segment.document]
        inside = (where >= segment.begin) & ((where < segment.end) | is_last)
        expected.append(values[segment.document][inside].sum())
    np.testing.assert_allclose(sum_by_segment(segments, positions, values), expected)
