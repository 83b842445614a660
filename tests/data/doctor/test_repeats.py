"""What came before is found exactly, in memory that does not grow with the corpus."""

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from regard.data.doctor import repeats
from regard.data.doctor.repeats import BitSet, DuplicateFinder, digest
from regard.errors import DataError


def expected(texts: list[tuple[str, str]]) -> tuple[list[int], list[int]]:
    pairs: set[tuple[str, str]] = set()
    sources: set[str] = set()
    again, variants = [], []
    for at, pair in enumerate(texts):
        if pair in pairs:
            again.append(at)
        elif pair[0] in sources:
            variants.append(at)
        pairs.add(pair)
        sources.add(pair[0])
    return again, variants


@pytest.mark.parametrize(("block", "part"), [(7, 11), (64, 100_000), (100_000, 3)])
def test_blocks_and_parts_change_nothing(block: int, part: int):
    draw = random.Random(5)
    texts = [(str(draw.randrange(90)), str(draw.randrange(3))) for _ in range(500)]
    found = DuplicateFinder(block_size=block, part_size=part)
    for at, (source, target) in enumerate(texts):
        found.add(source, target, at)
    again, variants = found.find()
    found.close()
    assert (again.first(500), variants.first(500)) == expected(texts)


def test_where_a_text_is_cut_matters():
    found = DuplicateFinder()
    for at, (source, target) in enumerate([("ab", "c"), ("a", "bc"), ("a\nb", "c"), ("a", "b\nc"), ("", "ab")]):
        found.add(source, target, at)
    again, variants = found.find()
    found.close()
    assert len(again) == 0 and variants.first(9) == [3]
    assert digest(" a ") == digest("a") != digest("A")
    assert len(digest("\ud800")) == 8


def test_a_set_of_bits_is_a_set():
    draw = random.Random(3)
    one, two = ({draw.randrange(50_000) for _ in range(700)} for _ in range(2))
    left, right = BitSet(), BitSet()
    for at in one:
        left.add(at)
    right.update(np.array(sorted(two), np.uint32))
    assert len(left) == len(one) and all(at in left for at in one) and 60_000 not in left
    assert (left | right).first(9999) == sorted(one | two)
    assert (left - right).first(9999) == sorted(one - two)
    assert right.first(3) == sorted(two)[:3]
    assert BitSet().first(3) == [] and len(BitSet() | BitSet()) == 0


def peak(count: int, folder: Path) -> int:
    tracemalloc.start()
    found = DuplicateFinder(folder, block_size=1 << 12, part_size=1 << 14)
    for at in range(count):
        found.add(f"sentence {at % (count - 50)}", f"phrase {at}", at)
    again, variants = found.find()
    found.close()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(again), len(variants)) == (0, 50)
    return most


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(repeats, "MAX_BYTES_IN_MEMORY", 1)
    small, large = peak(20_000, tmp_path), peak(200_000, tmp_path)
    # 200,000 rows are 4 MB; three arrays of 16,384 digests and a block of rows are not one and a half.
    assert large < 1_500_000
    assert large < small * 1.2


def test_a_scratch_folder_that_cannot_be_written_is_named_as_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(repeats, "MAX_BYTES_IN_MEMORY", 1)
    found = DuplicateFinder(tmp_path / "missing", block_size=2)
    found.add("one", "un", 0)
    with pytest.raises(DataError, match="free space in the folder for temporary files"):
        found.add("two", "deux", 1)
    found.close()
