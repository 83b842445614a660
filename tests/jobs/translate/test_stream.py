"""Lines are answered as they come."""

import threading
import time
from collections.abc import Iterator

import pytest

from regard.jobs.translate.stream import read_chunks


def test_a_fast_source_comes_in_full_chunks_in_order():
    chunks = list(read_chunks(range(17), 5))
    assert [item for chunk in chunks for item in chunk] == list(range(17))
    assert max(map(len, chunks)) <= 5
    assert list(read_chunks([], 5)) == []


def test_a_slow_source_is_not_waited_for():
    answered = threading.Event()

    def lines() -> Iterator[str]:
        yield "first"
        assert answered.wait(10), "no answer before the second line came"
        yield "second"

    found = read_chunks(lines(), 100)
    assert next(found) == ["first"]
    answered.set()
    assert list(found) == [["second"]]


def test_what_reading_raises_comes_after_what_was_read():
    def lines() -> Iterator[int]:
        yield 1
        raise ValueError("torn")

    found = read_chunks(lines(), 100)
    assert next(found) == [1]
    with pytest.raises(ValueError, match="torn"):
        next(found)


def test_a_reader_that_is_no_longer_wanted_stops():
    read = []

    def lines() -> Iterator[int]:
        for i in range(10**9):
            read.append(i)
            yield i

    found = read_chunks(lines(), 3)
    next(found)
    found.close()
    time.sleep(0.3)
    count = len(read)
    time.sleep(0.3)
    assert len(read) == count < 100
