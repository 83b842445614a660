"""MinHash finds what the exact similarity would find, in whatever order and number the texts come."""

import random
from itertools import combinations

import numpy as np
import pytest

from regard.data.doctor import near_duplicates
from regard.data.doctor.near_duplicates import (
    MIN_SIMILARITY,
    HeldOutIndex,
    NearDuplicateFinder,
    are_near,
    compute_similarity,
    sketch_texts,
)

TEXT = "the old man and his dog went over a hill to see what was left of their house by river today"
WORDS = TEXT.split()


def sentences(count: int, seed: int = 3) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, 17))) for _ in range(count)]


def change(text: str, rng: random.Random) -> str:
    """The text with one character replaced."""
    at = rng.randrange(len(text))
    return text[:at] + "x" + text[at + 1 :]


def find(texts: list[str], parts: int = 1, **options: int) -> dict[int, int]:
    finder = NearDuplicateFinder(**options)  # type: ignore[arg-type]
    size = -(-len(texts) // parts) or 1
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        finder.add(part, sketch_texts(part), range(start, start + len(part)))
    found = {near.index: near.earlier_index for near in finder.find()}
    finder.close()
    return found


def test_similarity_is_the_share_of_common_ngrams():
    assert compute_similarity("abcdefg", "abcdefg") == 1 and compute_similarity("abcd", "efgh") == 0
    assert compute_similarity("abcdef", "abcdeg") == 2 / 4  # abcd bcde | cdef cdeg
    assert compute_similarity("ab", "ab") == 1 and compute_similarity("", "ab") == 0  # a short text is one n-gram


def test_equal_minima_estimate_the_similarity():
    texts = sentences(60)
    sketches = sketch_texts(texts)
    errors = [
        (sketches[i] == sketches[j]).mean() - compute_similarity(texts[i], texts[j])
        for i, j in combinations(range(60), 2)
    ]
    assert abs(float(np.mean(errors))) < 0.02 and 0.02 < float(np.std(errors)) < 0.07


def test_a_text_has_the_same_sketch_in_every_company():
    texts = ["", "a", "日本語の文", "\ud800", *sentences(7), "x" * 3000]
    alone = np.concatenate([sketch_texts([text]) for text in texts])
    assert (sketch_texts(texts) == alone).all() and (sketch_texts(texts[::-1]) == alone[::-1]).all()


def test_near_all_that_is_near_is_found_and_nothing_else():
    rng = random.Random(5)
    originals = [text for text in sentences(160) if len(text) > 25]
    texts = [*originals, *(change(text, rng) for text in originals)]
    expected = {j for i, j in combinations(range(len(texts)), 2) if are_near(texts[i], texts[j])}
    found = find(texts)
    assert all(earlier < later and are_near(texts[earlier], texts[later]) for later, earlier in found.items())
    assert len(expected) > 100 and set(found) <= expected and len(found) >= 0.97 * len(expected)


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_parts_and_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch):
    texts = sentences(90) * 2
    expected = find(texts)
    monkeypatch.setattr(near_duplicates, "BLOCK_SIZE", block)
    assert find(texts) == find(texts, parts=7) == expected and len(expected) >= 90


def test_only_so_many_texts_are_compared():
    texts = ["one and the same sentence"] * 11
    assert len(find(texts)) == 10 and len(find(texts, parts=3, max_texts=5)) == 4 and find([]) == {}


def test_the_held_out_text_that_is_near_is_found():
    rng = random.Random(11)
    held_out = [text for text in sentences(200, seed=13) if len(text) > 40]
    texts = [change(text, rng) for text in held_out]
    found = HeldOutIndex(held_out).find(texts, sketch_texts(texts))
    assert sum(number is not None for number in found) >= 0.95 * len(texts)
    assert all(number is None or are_near(held_out[number], text) for number, text in zip(found, texts, strict=True))
    other = ["nothing of this was ever said before", ""]
    assert HeldOutIndex(held_out).find(other, sketch_texts(other)) == [None, None]
    assert HeldOutIndex([]).find(other, sketch_texts(other)) == [None, None]


def test_the_threshold_is_met_exactly():
    one, two = "abcdefghij", "abcdefghik"  # 6 of 8 n-grams in common
    assert compute_similarity(one, two) == MIN_SIMILARITY and are_near(one, two)


BASE = "the quick brown fox jumps over the lazy dog and sleeps near the old river"
NEAR = BASE.replace("lazy", "late")


@pytest.mark.parametrize("missing", [0, 1])
def test_as_many_equal_minima_as_are_needed_make_a_candidate(monkeypatch: pytest.MonkeyPatch, missing: int):
    sketches = near_duplicates.sketch_texts([BASE, NEAR])
    equal = int((sketches[0] == sketches[1]).sum())
    bytes_equal = int(((sketches[0] & 255) == (sketches[1] & 255)).sum())
    assert near_duplicates.are_near(BASE, NEAR) and equal < near_duplicates.NUM_HASHES
    monkeypatch.setattr(near_duplicates, "MIN_EQUAL", equal + missing)
    index = near_duplicates.HeldOutIndex([BASE])
    assert index.find([NEAR], sketches[1:]) == [None if missing else 0]
    monkeypatch.setattr(near_duplicates, "MIN_EQUAL", bytes_equal + missing)
    finder = near_duplicates.NearDuplicateFinder()
    finder.add([BASE, NEAR], sketches, [3, 7])
    found = [(near.index, near.earlier_index, near.earlier_text) for near in finder.find()]
    finder.close()
    assert found == ([] if missing else [(7, 3, BASE)])


def test_of_texts_that_are_equally_near_the_first_one_is_told():
    finder = near_duplicates.NearDuplicateFinder()
    texts = [BASE, BASE, "entirely other words", BASE]
    finder.add(texts[:2], near_duplicates.sketch_texts(texts[:2]), [2, 3])
    finder.add(texts[2:], near_duplicates.sketch_texts(texts[2:]), [5, 8])
    found = [(near.index, near.earlier_index) for near in finder.find()]
    finder.close()
    assert found == [(3, 2), (8, 2)]
