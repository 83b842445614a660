"""The four sets of the English-French corpus: disjoint, and what is reserved is never seen before."""

from __future__ import annotations

import re
from itertools import product

import pytest

from regard.data.corpora import english_french
from regard.data.corpora.english_french import Splits, combinations, generate, is_reserved, lexicon, split
from regard.errors import DataError
from regard.languages import split_words

NOUNS = {form: noun for noun in lexicon.NOUNS for form in (noun.english, noun.english_plural)}


@pytest.fixture(scope="module")
def splits() -> Splits:
    return split(train=5_000, dev=200, test=200, compositional=150, seed=7)


def test_splits_share_no_source(splits: Splits) -> None:
    parts = [splits.train, splits.dev, splits.test, splits.compositional]
    assert [len(part) for part in parts] == [5_000, 200, 200, 150]
    assert len({pair.source for part in parts for pair in part}) == 5_550


def test_reserved_combinations_are_kept_for_the_end(splits: Splits) -> None:
    for pair in (*splits.train, *splits.dev, *splits.test):
        assert not any(map(is_reserved, combinations(pair))), pair.source
    for pair in splits.compositional:
        assert any(map(is_reserved, combinations(pair))), pair.source


def test_compositional_words_are_known(splits: Splits) -> None:
    for side in ("source", "target"):
        known = {word.lower() for pair in splits.train for word in split_words(getattr(pair, side))}
        for pair in splits.compositional:
            assert {word.lower() for word in split_words(getattr(pair, side))} <= known


def test_combinations_see_what_a_reader_sees() -> None:
    seen = {pair.source: combinations(pair) for pair in generate(3_000, 1)}
    for source, found in seen.items():
        for adjective, noun in re.findall(r"\b(red|blue|old|famous|heavy) (dog|kings|hats?|tables?|box)\b", source):
            assert ("adjective", adjective, NOUNS[noun].english) in found
        for verb, noun in re.findall(
            r"\b(eat|eats|ate|eating) (?:the|an?|some) (apples?|eggs?|cakes?|bread)\b", source
        ):
            assert ("verb", "eat", NOUNS[noun].english) in found, (source, verb)


def test_about_one_combination_in_fifteen_is_reserved() -> None:
    every = [("adjective", a.english, n.english) for a, n in product(lexicon.ADJECTIVES, lexicon.NOUNS)]
    every += [("verb", v.english, n.english) for v in lexicon.TRANSITIVE for n in lexicon.nouns(v.objects)]
    assert 0.05 < sum(map(is_reserved, every)) / len(every) < 0.08


def test_a_split_that_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="none may be negative"):
        split(1, -1, 1, 1, seed=0)
    with pytest.raises(DataError, match="needs training pairs"):
        split(0, 1, 1, 1, seed=0)
    with pytest.raises(DataError, match="use more training pairs"):
        split(1, 0, 0, 1, seed=0)
    with pytest.raises(DataError, match="cannot generate -1 pairs"):
        generate(-1, seed=0)


def test_a_grammar_that_dries_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    only = next(generate(1, 0))
    monkeypatch.setattr(english_french, "draft_pair", lambda generator: only)
    with pytest.raises(DataError, match="no new sentence in 50000 drafts after 1"):
        list(generate(2, 0))
