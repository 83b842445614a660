"""Documents as segments, over which bits are summed: the sample that intervals and paired tests are computed from."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.data.group_split.documents import MIN_DOCUMENTS
from regard.data.store import Array
from regard.metrics.intervals import FloatArray

MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES = 100, 2000
WANTED_SEGMENTS = 50


class TextSegment(NamedTuple):
    """Bytes of a document."""

    document: int
    begin: int
    end: int


def cut_segments(texts: Sequence[str]) -> list[TextSegment]:
    """Whole documents, where there are enough for an interval; otherwise parts of each that end with a line."""
    segments: list[TextSegment] = []
    contents = [text.encode("utf-8") for text in texts]
    size = sum(map(len, contents)) // WANTED_SEGMENTS
    size = min(MAX_SEGMENT_BYTES, max(MIN_SEGMENT_BYTES, size))
    for number, content in enumerate(contents):
        borders = [0, len(content)] if len(texts) >= MIN_DOCUMENTS else _find_borders(content, size)
        segments += [TextSegment(number, begin, end) for begin, end in itertools.pairwise(borders)]
    return segments


def _find_borders(content: bytes, size: int) -> list[int]:
    borders = [0]
    while len(content) - borders[-1] > 2 * size:  # so that the last one has half of the size at least
        wanted = borders[-1] + size
        line_end = content.find(b"\n", wanted, wanted + size // 2)
        borders.append(wanted if line_end < 0 else line_end + 1)
    return [*borders, len(content)]


def describe_units(texts: Sequence[str]) -> str:
    """What the segments of these texts are."""
    return "documents" if len(texts) >= MIN_DOCUMENTS else "segments"


def sum_by_segment(
    segments: Sequence[TextSegment], positions: Sequence[Array], values: Sequence[FloatArray]
) -> FloatArray:
    """The sum of the values that begin in each segment; positions are bytes of documents."""
    sums = []
    documents = (list(group) for _, group in itertools.groupby(segments, key=lambda segment: segment.document))
    for document, where, amounts in zip(documents, positions, values, strict=True):
        begins = np.array([segment.begin for segment in document])
        index = np.searchsorted(begins, where, side="right") - 1
        sums.append(np.bincount(index, amounts, minlength=len(begins)))
    return np.concatenate(sums)
