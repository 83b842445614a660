"""A profile reads as much as it needs."""

import math

import pytest

from regard.data.doctor import profile
from regard.data.doctor.profile import CorpusProfile, profile_corpus
from regard.formats import Pair


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that are quick to reach; a text names its language with its first two letters."""
    monkeypatch.setattr(profile, "LENGTH_SAMPLE_SIZE", 7)
    monkeypatch.setattr(profile, "LANGUAGE_SAMPLE_SIZE", 5)
    monkeypatch.setattr(profile, "MIN_SAMPLE_SIZE", 3)
    monkeypatch.setattr(profile, "MAX_PAIRS", 11)
    monkeypatch.setattr(profile, "identify_language", lambda text: {"--": "", "..": None}.get(text[:2], text[:2]))


def count_read(pairs: list[Pair]) -> tuple[CorpusProfile, int]:
    read = []
    return profile_corpus(read.append(pair) or pair for pair in pairs), len(read)


@pytest.mark.parametrize(
    ("pairs", "read"),
    [
        ([Pair("en a", "fr b")] * 20, 7),
        ([Pair("en a", ".. b")] * 20, 11),  # no sentence of the target can be identified
        ([Pair(".. a", "fr b")] * 20, 11),
        ([Pair("en a", "")] * 3 + [Pair("en a", "fr b")] * 20, 10),  # blank ones have no ratio
        ([Pair("en a", "fr b")] * 4, 4),
    ],
)
def test_pairs_are_read_until_all_is_known(small, pairs: list[Pair], read: int):
    assert count_read(pairs)[1] == read


def test_the_ratio_is_the_median_of_pairs_that_are_not_blank(small):
    lengths = [(5, 9), (5, 20), (5, 85), (7, 0), (5, 5)]
    found, _ = count_read([Pair("e" * one, "f" * two) for one, two in lengths])
    ratios = sorted((two + 15) / (one + 15) for one, two in lengths if two)
    assert found.length_ratio == pytest.approx(math.sqrt(ratios[1] * ratios[2]))  # in the middle of four
    assert count_read([Pair("en", "f" * 50)] * 2)[0].length_ratio == 1
    late = [Pair("en a", "fr b")] * 7 + [Pair(".. a", "x" * 500)] * 4
    assert count_read(late)[0].length_ratio == pytest.approx(1)


def test_a_language_is_that_of_the_first_sentences(small):
    pairs = [Pair("en a", ".. b")] * 5 + [Pair("de a", ".. b")] * 6
    found, _ = count_read(pairs)
    assert (found.source, found.target) == ("en", "")
    unclear, _ = count_read([Pair("-- a", "fr b")] * 4 + [Pair("en a", "fr b")])
    assert (unclear.source, unclear.target) == ("", "fr")  # one of five is too few
